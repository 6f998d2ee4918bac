// SPDX-License-Identifier: Apache-2.0
/** failures on the way, what the user sees of them, and that no unneeded volume stays attached. */
import assert from 'node:assert/strict';
import { csiNodes } from '@csi-sidecars/runtime';
import { publishCalls, unpublishCalls } from '../../driver/calls.ts';
import { startApiProxy } from '../../faults/api-proxy.ts';
import { addMountingNode, openChannel } from '../../nodes/mounting-node.ts';
import { endPod, untilRunning } from '../pod-life.ts';
import { createPod, deletePod } from '../pods.ts';
import { createClaim, createClass, untilBound, untilEvent } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { quickRetries, readyOnOneNode } from './ready-for-pods.ts';
import {
  addPaperNode,
  attachmentsOf,
  createAttachment,
  detach,
  finalizerOf,
  findAttachment,
  holdersOf,
  makeVolume,
  nodeIdOf,
  releaseVolume,
  startAttachable,
  untilAttached,
  untilAttachmentOn,
} from './steps.ts';

const needs = ['driver-faults', 'driver-journal', 'driver-settings'] as const;

export const failures: readonly Scenario[] = [
  {
    id: 'A-04',
    title:
      'publishing fails three times, each time the status shows message and time, then the pod runs and no error is left',
    needs: ['attachment-error-codes', 'scheduler', ...needs],
    run: async (ctx) => {
      const { driver, node } = await readyOnOneNode(ctx, { args: quickRetries });
      const fail = async (message: string): Promise<string> =>
        await driver.control.addFault({
          method: 'ControllerPublishVolume',
          action: { kind: 'fail', code: 'Internal', message },
        });

      let rule = await fail('refusal 1');
      await createPod(ctx, { name: 'pod', node });
      const seen: string[] = [];
      for (const next of ['refusal 2', 'refusal 3', undefined]) {
        const shown = await ctx.eventually('the next refusal shows in the status', async () => {
          const error = (await attachmentsOf(ctx, node))[0]?.status?.attachError;
          return error?.message !== undefined && !seen.includes(error.message) ? error : undefined;
        });
        seen.push(shown.message ?? '');
        assert.ok(Math.abs(new Date(shown.time ?? 0).getTime() - ctx.testRun.clock.nowMs()) < 10_000);
        assert.equal(shown.errorCode, 13);
        // The next fault is added before this one is removed, so that no call succeeds in between.
        const last = rule;
        if (next !== undefined) rule = await fail(next);
        await driver.control.removeFault(last);
      }
      assert.deepEqual(
        seen,
        [1, 2, 3].map((count) => `rpc error: code = Internal desc = refusal ${count}`),
      );
      await untilEvent(ctx, 'FailedAttachVolume', 'rpc error: code = Internal desc = refusal');

      await untilRunning(ctx, 'pod', 90_000);
      const attachment = await untilAttachmentOn(ctx, node);
      assert.equal(attachment.status?.attached, true);
      assert.equal(attachment.status.attachError, undefined);
      await endPod(ctx, 'pod');
    },
  },
  {
    id: 'A-05',
    title:
      'publishing hangs for ever and the pod is deleted: the attachment stays until the driver has unpublished the volume',
    needs: ['scheduler', ...needs],
    run: async (ctx) => {
      const { driver, node, id, volume } = await readyOnOneNode(ctx, { args: ['--timeout=1s', ...quickRetries] });
      await driver.control.addFault({ method: 'ControllerPublishVolume', action: { kind: 'hang' } });
      const refusal = await driver.control.addFault({
        method: 'ControllerUnpublishVolume',
        action: { kind: 'fail', code: 'Unavailable', message: 'not now' },
      });
      await createPod(ctx, { name: 'pod', node });
      const attachment = await ctx.eventually('the time-out shows in the status', async () =>
        (await attachmentsOf(ctx, node)).find(({ status }) =>
          status?.attachError?.message?.includes('code = DeadlineExceeded'),
        ),
      );
      const attachmentName = attachment.metadata?.name ?? '';

      await deletePod(ctx, 'pod');
      await ctx.eventually(
        'the refusal shows in the status',
        async () => {
          const status = (await findAttachment(ctx, attachmentName))?.status;
          return status?.detachError?.message === 'rpc error: code = Unavailable desc = not now';
        },
        60_000,
      );
      assert.deepEqual((await findAttachment(ctx, attachmentName))?.metadata?.finalizers, [finalizerOf(ctx)]);
      await driver.control.removeFault(refusal);

      // The attach/detach controller retries after a pause that grows with its failures.
      await ctx.eventually('no attachment is left', async () => (await attachmentsOf(ctx)).length === 0, 60_000);
      const last = (await unpublishCalls(driver)).at(-1);
      assert.equal(last?.outcome?.kind, 'answered');
      assert.equal(last.request.node_id, id);
      // Publish calls that still hang do not matter: they timed out before the volume was unpublished.
      assert.deepEqual(await holdersOf(driver, volume.spec?.csi?.volumeHandle ?? ''), []);
    },
  },
  {
    id: 'A-12',
    title:
      'the attacher is killed between the answer and the status: it publishes again, and the volume is attached once',
    needs,
    restarts: true,
    run: async (ctx) => {
      const node = await addPaperNode(ctx, 'node');
      const driver = await startAttachable(ctx, { nodes: [nodeIdOf(node.name)] });
      const channel = await openChannel(ctx);
      const proxy = ctx.cleanUp.use(await startApiProxy(ctx.testRun.controlPlane, ctx.testRun.clock));
      const isStatus = (path: string): boolean => /\/volumeattachments\/[^/]+\/status/.test(path);
      proxy.addRule({ when: ({ request }) => isStatus(request.path), fault: { kind: 'hang', point: 'before' } });
      const volume = await makeVolume(ctx, { channel, what: 'volume' });
      const attacher = await ctx.startAttacher({ server: proxy.url });
      const name = await createAttachment(ctx, volume.name, node);
      await ctx.eventually('the volume is attached and its status is being written', () =>
        proxy.requests.some(({ path }) => isStatus(path)),
      );
      assert.deepEqual(await holdersOf(driver, volume.handle), [nodeIdOf(node.name)]);

      await attacher.kill();

      const attachment = await untilAttached(ctx, name);
      const calls = await publishCalls(driver);
      assert.ok(calls.length >= 2);
      for (const { request, outcome } of calls) {
        assert.deepEqual(request, calls[0]?.request);
        assert.deepEqual(outcome, {
          kind: 'answered',
          response: { publish_context: attachment.status?.attachmentMetadata },
        });
      }
      assert.deepEqual(await holdersOf(driver, volume.handle), [nodeIdOf(node.name)]);
      await detach(ctx, name);
      await releaseVolume(ctx, volume, channel);
    },
  },
  {
    id: 'A-14',
    title: 'a node turns out to be full: the error has code 8, and the node updates its volume limit',
    needs: ['attachment-error-codes', 'scheduler', ...needs],
    run: async (ctx) => {
      const name = ctx.nameOf('node');
      const id = nodeIdOf(name);
      const csiDriver = { attachRequired: true, nodeAllocatableUpdatePeriodSeconds: 3600 };
      const driver = await startAttachable(ctx, { nodes: [id], csiDriver });
      const limit = async (count: number): Promise<void> =>
        void (await driver.control.addFault({
          method: 'NodeGetInfo',
          action: { kind: 'answer', set: { max_volumes_per_node: String(count) } },
        }));
      await limit(5);
      const node = await addMountingNode(ctx, { name, socket: driver.socketOf(id) });
      const allocatable = async (): Promise<number | undefined> => {
        const { spec } = await ctx.api.get(csiNodes, { name });
        return spec.drivers.find((entry) => entry.name === ctx.driverName)?.allocatable?.count;
      };
      assert.equal(await allocatable(), 5);
      await ctx.startProvisioner();
      await ctx.startAttacher({ args: quickRetries });
      await createClaim(ctx, await createClass(ctx));
      await untilBound(ctx);

      await driver.control.clearFaults();
      await limit(4);
      const action = { kind: 'fail', code: 'ResourceExhausted', message: 'no slot left' } as const;
      const full = await driver.control.addFault({ method: 'ControllerPublishVolume', action });
      await createPod(ctx, { name: 'pod', node });
      const error = await ctx.eventually(
        'the error shows in the status',
        async () => (await attachmentsOf(ctx, node))[0]?.status?.attachError,
      );
      assert.equal(error.errorCode, 8);
      assert.equal(error.message, 'rpc error: code = ResourceExhausted desc = no slot left');
      await ctx.eventually('the CSINode has the new limit', async () => (await allocatable()) === 4);

      await driver.control.removeFault(full);
      await untilRunning(ctx, 'pod', 90_000);
      await endPod(ctx, 'pod');
    },
  },
];
