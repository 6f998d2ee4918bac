// SPDX-License-Identifier: Apache-2.0
/** M-, P-22, P-23: pods on a real kubelet that mount, write and read, with everything of the driver in containers. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { persistentVolumes, volumeAttachments } from '@csi-sidecars/runtime';
import { deployAll, deployDriverOnly, registrationFolder, untilRegistered } from '../../deployment/deploy.ts';
import { endPod } from '../pod-life.ts';
import { callsOf, createCalls, deletedIds, type Recording } from '../../driver/calls.ts';
import { findProgram } from '../../processes/program.ts';
import { supervise } from '../../processes/supervised-process.ts';
import { claimed } from '../../workload/user-pods.ts';
import {
  createClaim,
  createClass,
  deleteClaim,
  findVolume,
  untilBound,
  untilVolumeGone,
} from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { lastSaid, mebibytes, reads, startUser, untilSaid, writes } from './user-steps.ts';

const file = '/data/file';

export const nodeVolumes: readonly Scenario[] = [
  {
    id: 'M-01',
    title:
      'WaitForFirstConsumer: what a pod writes the next pod reads; attached, mounted, unmounted, detached, deleted with the claim',
    needs: ['kubelet', 'scheduler'],
    run: async (ctx) => {
      const { node, driver } = await deployAll(ctx);
      await createClaim(ctx, await createClass(ctx, { volumeBindingMode: 'WaitForFirstConsumer' }));
      assert.deepEqual(await createCalls(driver), [], 'nothing is made before a pod');

      await startUser(ctx, { name: 'writer', volume: claimed('claim'), script: writes(file) });
      const written = await untilSaid(ctx, 'writer', 'sum');
      const { volume } = await untilBound(ctx);
      const mounted = node.volumeMounts().find((path) => path.includes(`/${volume.metadata?.name}/mount`));
      assert.ok(mounted !== undefined, 'the volume is mounted for the pod');
      assert.equal(sha256(node.pathOf(`${mounted}/file`)), written, 'the node sees what the pod wrote');
      await endPod(ctx, 'writer');
      await startUser(ctx, { name: 'reader', volume: claimed('claim'), script: reads(file) });
      assert.equal(await untilSaid(ctx, 'reader', 'sum'), written);
      await endPod(ctx, 'reader');

      await deleteClaim(ctx);
      await untilVolumeGone(ctx, volume.metadata?.name ?? '');
      assert.deepEqual([...new Set(await deletedIds(driver))], [volume.spec?.csi?.volumeHandle]);
      assert.equal((await createCalls(driver)).length, 1);
    },
  },
  {
    id: 'P-22',
    title:
      'a block volume: nothing has formatted it, and what a pod writes to the whole device the next pod reads from it',
    needs: ['kubelet'],
    run: async (ctx) => {
      const { driver } = await deployAll(ctx);
      const className = await createClass(ctx);
      await createClaim(ctx, className, {
        spec: { volumeMode: 'Block', resources: { requests: { storage: `${mebibytes}Mi` } } },
      });

      const device = { volume: claimed('claim'), as: 'device' } as const;
      // A file system would have left its superblock.
      const isEmpty = `echo "used $(tr -d '\\0' < /dev/data | wc -c)"`;
      const script = ['test -b /dev/data', isEmpty, ...writes('/dev/data')];
      await startUser(ctx, { name: 'writer', ...device, script });
      const written = await untilSaid(ctx, 'writer', 'sum');
      assert.equal(lastSaid(ctx, 'writer', 'used'), '0');
      await endPod(ctx, 'writer');
      await startUser(ctx, { name: 'reader', ...device, script: ['test -b /dev/data', ...reads('/dev/data')] });
      assert.equal(await untilSaid(ctx, 'reader', 'sum'), written);
      await endPod(ctx, 'reader');

      const calls = [
        ...(await callsOf(driver, '/csi.v1.Node/NodeStageVolume')),
        ...(await callsOf(driver, '/csi.v1.Node/NodePublishVolume')),
      ];
      assert.ok(calls.length >= 4, 'staged and published for both pods');
      for (const { request } of calls) assert.equal(request.volume_capability?.block !== undefined, true);
      const [created] = await createCalls(driver);
      assert.equal(created?.request.volume_capabilities[0]?.block !== undefined, true);
    },
  },
  {
    id: 'P-23',
    title:
      'an inline ephemeral volume is created and removed with its pod: published as ephemeral, with no call of the controller and no attachment',
    needs: ['kubelet'],
    run: async (ctx) => {
      const { driver } = await deployAll(ctx);
      const before = await controllerCalls(driver);

      const volume = { csi: { driver: ctx.driverName, volumeAttributes: { color: 'red' } } };
      await startUser(ctx, { name: 'user', volume, script: writes(file) });
      await untilSaid(ctx, 'user', 'sum');
      assert.equal((await driver.control.volumes()).length, 1);
      const [published, ...others] = await callsOf(driver, '/csi.v1.Node/NodePublishVolume');
      assert.ok(published !== undefined && others.length === 0, 'published once');
      const { volume_id: id, volume_context: context, target_path: target } = published.request;
      assert.deepEqual(
        ['csi.storage.k8s.io/ephemeral', 'csi.storage.k8s.io/pod.name', 'color'].map((key) => context[key]),
        ['true', 'user', 'red'],
      );
      await endPod(ctx, 'user');

      const unpublished = await callsOf(driver, '/csi.v1.Node/NodeUnpublishVolume');
      assert.deepEqual(
        [...new Set(unpublished.map(({ request }) => `${request.volume_id} ${request.target_path}`))],
        [`${id} ${target}`],
      );
      assert.deepEqual(await driver.control.volumes(), []);
      assert.deepEqual(await controllerCalls(driver), before, 'the controller of the driver was not asked');
      const { items } = await ctx.api.list(volumeAttachments);
      assert.deepEqual(
        items.filter(({ spec }) => spec.attacher === ctx.driverName),
        [],
      );
    },
  },
  {
    id: 'M-04',
    title:
      'two pods on one volume: each reads what the other writes; the volume stays mounted until the second has gone',
    needs: ['kubelet'],
    run: async (ctx) => {
      const { node } = await deployAll(ctx);
      await createClaim(ctx, await createClass(ctx));

      await startUser(ctx, { name: 'first', volume: claimed('claim'), script: writes('/data/first') });
      const written = await untilSaid(ctx, 'first', 'sum');
      const second = [...reads('/data/first'), "until test -e /data/end; do sleep 0.1; done; echo 'seen end'"];
      await startUser(ctx, { name: 'second', volume: claimed('claim'), script: second });
      assert.equal(await untilSaid(ctx, 'second', 'sum'), written);
      await endPod(ctx, 'first');
      assert.equal(node.volumeMounts().filter((path) => path.includes(ctx.driverName)).length, 1, 'still staged');

      await startUser(ctx, { name: 'third', volume: claimed('claim'), script: ['touch /data/end', 'echo "said end"'] });
      await untilSaid(ctx, 'third', 'said');
      assert.equal(await untilSaid(ctx, 'second', 'seen'), 'end');
      await endPod(ctx, 'second');
      await endPod(ctx, 'third');
    },
  },
  {
    id: 'M-05',
    title:
      'reclaim policy Retain keeps volume and data after the claim; policy Delete takes them while a pod still ends',
    needs: ['kubelet'],
    run: async (ctx) => {
      const { driver } = await deployAll(ctx);
      const retain = await createClass(ctx, { reclaimPolicy: 'Retain' }, 'retain');
      const remove = await createClass(ctx, { reclaimPolicy: 'Delete' }, 'delete');
      await createClaim(ctx, retain, { name: 'kept' });
      await createClaim(ctx, remove, { name: 'gone' });
      await startUser(ctx, { name: 'kept', volume: claimed('kept'), script: writes(file) });
      await startUser(ctx, { name: 'gone', volume: claimed('gone'), script: writes(file) });
      for (const name of ['kept', 'gone']) await untilSaid(ctx, name, 'sum');
      const kept = (await untilBound(ctx, 'kept')).volume;
      const gone = (await untilBound(ctx, 'gone')).volume;

      // The claims are deleted under the running pods: protected until those have gone.
      for (const name of ['kept', 'gone']) await deleteClaim(ctx, name);
      assert.ok((await findVolume(ctx, gone.metadata?.name ?? '')) !== undefined);
      for (const name of ['kept', 'gone']) await endPod(ctx, name);

      await untilVolumeGone(ctx, gone.metadata?.name ?? '');
      assert.deepEqual([...new Set(await deletedIds(driver))], [gone.spec?.csi?.volumeHandle]);
      assert.deepEqual(
        (await driver.control.volumes()).map(({ id }) => id),
        [kept.spec?.csi?.volumeHandle],
      );
      // The scenario acts as the administrator and removes the volume that is kept.
      const name = kept.metadata?.name ?? '';
      const spec = { persistentVolumeReclaimPolicy: 'Delete' };
      await ctx.api.patch({ resource: persistentVolumes, ref: { name } }, { type: 'merge', body: { spec } });
      await untilVolumeGone(ctx, name);
    },
  },
  {
    id: 'M-06',
    title: 'sidecars as processes of the machine beside a driver in a container: a pod writes, the next one reads',
    needs: ['kubelet'],
    run: async (ctx) => {
      const { node, driver, folder } = await deployDriverOnly(ctx);
      const { command, args } = findProgram('csi-node-driver-registrar', ctx.testRun.env);
      const registrar = await supervise(
        {
          name: 'csi-node-driver-registrar',
          command,
          args: [
            ...args,
            `--csi-address=unix://${driver.socket}`,
            `--kubelet-registration-path=${folder}/csi.sock`,
            `--plugin-registration-path=${registrationFolder(node)}`,
          ],
          logFile: `${ctx.folder}/csi-node-driver-registrar.log`,
        },
        ctx.testRun.clock,
      );
      ctx.cleanUp.use(registrar);
      await untilRegistered(ctx);
      await ctx.startProvisioner();
      await ctx.startAttacher();
      await createClaim(ctx, await createClass(ctx));

      await startUser(ctx, { name: 'writer', volume: claimed('claim'), script: writes(file) });
      const written = await untilSaid(ctx, 'writer', 'sum');
      await endPod(ctx, 'writer');
      await startUser(ctx, { name: 'reader', volume: claimed('claim'), script: reads(file) });
      assert.equal(await untilSaid(ctx, 'reader', 'sum'), written);
      await endPod(ctx, 'reader');
      assert.deepEqual(registrar.exits, []);
    },
  },
];

/** The calls about volumes, by their methods; what controllers ask for at their start is none. */
async function controllerCalls({ control }: Recording): Promise<readonly string[]> {
  const methods = (await control.calls()).map(({ method }) => method);
  return methods.filter((method) =>
    /^\/csi\.v1\.Controller\/\w*(?:Create|Delete|Publish|Unpublish|Validate)/.test(method),
  );
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}
