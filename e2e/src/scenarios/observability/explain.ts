// SPDX-License-Identifier: Apache-2.0
/** O-06: what `csi-sidecars explain` says about claims that wait, on a real API server, with the rights on its page and no others. */
import assert from 'node:assert/strict';
import { explainRules } from '@csi-sidecars/explain';
import { persistentVolumeClaims, persistentVolumes, pods } from '@csi-sidecars/runtime';
import { addPaperNode, startAttachable } from '../attacher/steps.ts';
import { startReplica } from '../availability/replicas.ts';
import { type Command, prepareCommand } from '../command.ts';
import { aPod } from '../objects.ts';
import { createClaim, createClass, deleteClaim, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';

/** What the document is compared by, and what else is in it. */
interface Explanation {
  readonly row: string;
  readonly exitCode: number;
  readonly sentence: string;
  readonly turn: { readonly actor: string; readonly alive: string } | null;
  readonly error: { readonly code: number | null; readonly text: string } | null;
  readonly missing: readonly unknown[];
  readonly cost: { readonly requests: number };
}

interface Wanted {
  readonly row: string;
  readonly code: number;
  readonly actor: string;
}

async function explained(run: Command, subject: string): Promise<Explanation> {
  const { code, stdout, stderr } = await run(subject, '-o', 'json');
  assert.notEqual(stdout, '', stderr);
  const document = JSON.parse(stdout) as Explanation;
  assert.equal(document.exitCode, code);
  assert.deepEqual(document.missing, [], 'every right is there');
  return document;
}

function told({ row, exitCode: code, turn }: Explanation): Wanted {
  return { row, code, actor: turn?.actor ?? 'nobody' };
}

export const explain: readonly Scenario[] = [
  {
    id: 'O-06',
    title:
      'csi-sidecars explain: a claim without a pod, a class that is wrong, a refusal, a dead leader, a full node, a used claim, a kept volume: row, turn and exit code',
    needs: ['rbac', 'controller-manager', 'driver-faults', 'driver-settings', 'host-names', 'attachment-error-codes'],
    restarts: true,
    run: async (ctx) => {
      const { api, namespace } = ctx;
      const command = await prepareCommand(ctx, 'explain', explainRules);
      const run: Command = (...args) => command(...args, '-n', namespace);
      const expectTold = async (subject: string, wanted: Wanted): Promise<Explanation> => {
        let last: Explanation | undefined;
        return await ctx
          .eventually(`${subject} is explained by ${wanted.row}`, async () => {
            last = await explained(run, subject);
            return told(last).row === wanted.row && told(last).code === wanted.code ? last : undefined;
          })
          .then((found) => {
            assert.deepEqual(told(found), wanted);
            return found;
          })
          .catch((error: unknown) => {
            throw new Error(`${String(error)}; the last answer: ${JSON.stringify(last)}`, { cause: error });
          });
      };
      const driver = await startAttachable(ctx);

      // Nothing but objects is needed for these.
      const late = await createClass(ctx, { volumeBindingMode: 'WaitForFirstConsumer' }, 'late');
      await createClaim(ctx, late, { name: 'unused' });
      await expectTold('pvc/unused', { row: 'X15', code: 3, actor: 'user' });
      await createClaim(ctx, 'a-class-that-is-not-there', { name: 'classless' });
      await expectTold('pvc/classless', { row: 'X13', code: 4, actor: 'administrator' });
      const misspelt = await createClass(ctx, { provisioner: `${ctx.driverName}x` }, 'misspelt');
      await createClaim(ctx, misspelt, { name: 'misspelt' });
      const near = await expectTold('pvc/misspelt', { row: 'X14', code: 4, actor: 'administrator' });
      assert.match(near.sentence, new RegExp(`there is ${ctx.driverName}$`));
      const className = await createClass(ctx);
      await createClaim(ctx, className, { name: 'data' });
      await expectTold('pvc/data', { row: 'X6', code: 4, actor: 'administrator' });
      await expectTold('pvc/nothing', { row: 'X1', code: 6, actor: 'nobody' });

      // A driver that refuses, and a leader that is killed.
      const refusal = await driver.control.addFault({
        method: 'CreateVolume',
        at: 'before',
        action: { kind: 'fail', code: 'InvalidArgument' },
      });
      const quick = ['--retry-interval-start=500ms', '--retry-interval-max=2s'];
      const leader = await startReplica(ctx, { name: 'replica-a', args: quick });
      const refused = await expectTold('pvc/data', { row: 'X25', code: 4, actor: 'administrator' });
      assert.equal(refused.error?.code, 3);
      await leader.stop();
      await driver.control.removeFault(refusal);
      await createClaim(ctx, className, { name: 'later' });
      const dead = await expectTold('pvc/later', { row: 'X5', code: 4, actor: 'administrator' });
      assert.equal(dead.turn?.alive, 'no');
      await startReplica(ctx, { name: 'replica-b', args: quick });
      const { volume } = await untilBound(ctx, 'data');
      const { cost } = await expectTold('pvc/data', { row: 'X40', code: 0, actor: 'nobody' });
      ctx.note(`${cost.requests} requests for a bound claim without a pod`);
      assert.ok(cost.requests <= 15);

      // A node that is full, once somebody attaches.
      const node = await addPaperNode(ctx, 'node');
      await ctx.create(pods, aPod('writer', 'data', { nodeName: node.name }));
      await expectTold('pvc/data', { row: 'X6', code: 4, actor: 'administrator' });
      const full = await driver.control.addFault({
        method: 'ControllerPublishVolume',
        at: 'before',
        action: { kind: 'fail', code: 'ResourceExhausted' },
      });
      await ctx.startAttacher({ args: quick });
      const crowded = await expectTold('pod/writer', { row: 'X52', code: 4, actor: 'administrator' });
      assert.equal(crowded.error?.code, 8);
      await driver.control.removeFault(full);

      // A claim that is used, and a volume that is kept.
      await deleteClaim(ctx, 'data');
      const used = await expectTold('pvc/data', { row: 'X71', code: 4, actor: 'user' });
      assert.match(used.sentence, /^pod writer /);
      await api.patch(
        { resource: persistentVolumes, ref: { name: volume.metadata?.name ?? '' } },
        { type: 'merge', body: { spec: { persistentVolumeReclaimPolicy: 'Retain' } } },
      );
      await api.delete(pods, { namespace, name: 'writer' }, { gracePeriodSeconds: 0 });
      await ctx.eventually('the claim is gone', async () => {
        const { items } = await api.list(persistentVolumeClaims, { namespace });
        return !items.some(({ metadata }) => metadata?.name === 'data');
      });
      await expectTold(`pv/${volume.metadata?.name}`, { row: 'X88', code: 0, actor: 'nobody' });
      await api.patch(
        { resource: persistentVolumes, ref: { name: volume.metadata?.name ?? '' } },
        { type: 'merge', body: { spec: { persistentVolumeReclaimPolicy: 'Delete' } } },
      );
    },
  },
];
