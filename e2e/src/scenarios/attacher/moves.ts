// SPDX-License-Identifier: Apache-2.0
/** volumes that move, nodes that are lost, and storage that detaches a volume by itself. */
import assert from 'node:assert/strict';
import { csiNodes, nodes as nodeResource, type VolumeAttachment } from '@csi-sidecars/runtime';
import { publishCalls, unpublishCalls } from '../../driver/calls.ts';
import type { DriverInstance } from '../../driver/driver.ts';
import { openChannel } from '../../nodes/mounting-node.ts';
import { checksumOf, writeData, type Written } from '../../workload/workload.ts';
import type { ScenarioContext } from '../context.ts';
import { endPod, untilRunning } from '../pod-life.ts';
import { createPod, deletePod, mountedAt } from '../pods.ts';
import type { Scenario } from '../scenario.ts';
import { quickRetries, readyOnOneNode, readyOnTwoNodes, type ReadyNodes } from './ready-for-pods.ts';
import {
  addPaperNode,
  attachmentsOf,
  createAttachment,
  detach,
  findAttachment,
  holdersOf,
  makeVolume,
  nodeIdOf,
  outOfService,
  releaseVolume,
  startAttachable,
  untilAttached,
  untilAttachmentOn,
  untilDetached,
} from './steps.ts';

const mebibytes = 4;
const minuteMs = 60_000;

interface WrittenOnOne extends ReadyNodes {
  readonly written: Written;
}

/** Two nodes, and on the first of them the pod `before`, which has written data. */
async function writeOnOneOfTwo(ctx: ScenarioContext): Promise<WrittenOnOne> {
  const ready = await readyOnTwoNodes(ctx, { args: quickRetries });
  await createPod(ctx, { name: 'before', node: ready.one });
  await untilRunning(ctx, 'before');
  return { ...ready, written: await writeData(mountedAt(ready.one), 'data', mebibytes) };
}

/** Asserts that the volume was published to the second node after it was unpublished from the first. */
async function assertOneAfterTheOther(
  driver: DriverInstance,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const left = (await unpublishCalls(driver)).find(
    ({ request, outcome }) => request.node_id === nodeIdOf(from) && outcome?.kind === 'answered',
  );
  const arrived = (await publishCalls(driver)).find(({ request }) => request.node_id === nodeIdOf(to));
  assert.ok(left?.endedAtMs !== undefined && arrived !== undefined);
  assert.ok(arrived.beganAtMs >= left.endedAtMs, `${to} was given the volume before it was unpublished from ${from}`);
}

/** Asserts that the second node has the volume with its data, and that nothing is left of the attachment to the lost one. */
async function assertMoved(
  ctx: ScenarioContext,
  { driver, one, two, written }: WrittenOnOne,
  lost: VolumeAttachment,
): Promise<void> {
  assert.equal(await checksumOf(mountedAt(two), written.file), written.sha256);
  assert.equal(await findAttachment(ctx, lost.metadata?.name ?? ''), undefined);
  await assertOneAfterTheOther(driver, { from: one.name, to: two.name });
  assert.deepEqual(
    (await attachmentsOf(ctx)).map(({ spec }) => spec.nodeName),
    [two.name],
  );
}

export const moves: readonly Scenario[] = [
  {
    id: 'A-06',
    title:
      'a pod moves to another node: its volume is detached from the first node, then attached to the second, with its data',
    needs: ['scheduler', 'driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const { driver, one, two, written } = await writeOnOneOfTwo(ctx);

      await createPod(ctx, { name: 'after', node: two });
      await endPod(ctx, 'before');
      await untilRunning(ctx, 'after', 90_000);

      assert.equal(await checksumOf(mountedAt(two), written.file), written.sha256);
      await assertOneAfterTheOther(driver, { from: one.name, to: two.name });
      await endPod(ctx, 'after');
    },
  },
  {
    id: 'A-07',
    title: 'a node is lost and declared out of service: its volume is detached from it, and another node has the data',
    needs: ['scheduler', 'driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const ready = await writeOnOneOfTwo(ctx);
      const { driver, one, two } = ready;
      const lost = await untilAttachmentOn(ctx, one);

      one.freeze();
      ctx.cleanUp.defer(() => one.thaw());
      await deletePod(ctx, 'before');
      await createPod(ctx, { name: 'after', node: two });
      await ctx.consistently({
        forMs: 2000,
        check: async () => assert.deepEqual(await unpublishCalls(driver), []),
      });
      const body = { spec: { taints: [outOfService] } };
      await ctx.api.patch({ resource: nodeResource, ref: { name: one.name } }, { type: 'strategic', body });

      await untilRunning(ctx, 'after', 90_000);
      await assertMoved(ctx, ready, lost);
      one.thaw();
      await endPod(ctx, 'after');
    },
  },
  {
    id: 'A-08',
    title:
      'a node is lost and nothing says so: its volume stays attached for about six minutes, then another node has it, with its data',
    // The simulated control plane does not notice that a node is silent.
    needs: ['time', 'controller-manager', 'scheduler', 'driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const { clock } = ctx.testRun;
      const ready = await writeOnOneOfTwo(ctx);
      const { driver, one, two } = ready;
      const lost = await untilAttachmentOn(ctx, one);

      one.freeze();
      ctx.cleanUp.defer(() => one.thaw());
      const lostMs = clock.monotonicMs();
      await deletePod(ctx, 'before');
      await createPod(ctx, { name: 'after', node: two });
      await ctx.consistently({
        forMs: 5.5 * minuteMs,
        check: async () => {
          await clock.sleep(2_000, ctx.signal);
          assert.deepEqual(await unpublishCalls(driver), []);
          assert.ok((await publishCalls(driver)).every(({ request }) => request.node_id === nodeIdOf(one.name)));
        },
      });

      await untilRunning(ctx, 'after', 4 * minuteMs);
      ctx.note(`${Math.round((clock.monotonicMs() - lostMs) / 1000)} s until the pod ran on the other node`);
      await assertMoved(ctx, ready, lost);
      one.thaw();
      await endPod(ctx, 'after');
    },
  },
  {
    id: 'A-09',
    title: 'Node and CSINode are gone while a volume is attached: it is detached with the node id on the attachment',
    needs: ['scheduler', 'driver-journal', 'driver-settings'],
    restarts: true,
    run: async (ctx) => {
      const { driver, node, id, attacher, volume } = await readyOnOneNode(ctx);
      await createPod(ctx, { name: 'pod', node });
      await untilRunning(ctx, 'pod');
      const attachment = (await untilAttachmentOn(ctx, node)).metadata?.name ?? '';

      await attacher.destroy();
      await endPod(ctx, 'pod');
      await ctx.eventually('the attachment is to go', async () => {
        return (await findAttachment(ctx, attachment))?.metadata?.deletionTimestamp !== undefined;
      });
      node.freeze();
      await ctx.remove(csiNodes, node.name);
      await ctx.remove(nodeResource, node.name);
      assert.deepEqual(await holdersOf(driver, volume.spec?.csi?.volumeHandle ?? ''), [id]);
      await attacher.start();

      await untilDetached(ctx, attachment);
      assert.deepEqual(
        (await unpublishCalls(driver)).map(({ request }) => request.node_id),
        [id],
      );
      assert.deepEqual(await holdersOf(driver, volume.spec?.csi?.volumeHandle ?? ''), []);
    },
  },
  {
    id: 'A-10',
    title: 'the storage detaches a volume by itself: the comparison of the attacher attaches it again',
    needs: ['driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const node = await addPaperNode(ctx, 'node');
      const id = nodeIdOf(node.name);
      const driver = await startAttachable(ctx, { nodes: [id] });
      const channel = await openChannel(ctx);
      const volume = await makeVolume(ctx, { channel, what: 'volume' });
      await ctx.startAttacher({ args: ['--reconcile-sync=1s'] });
      const name = await createAttachment(ctx, volume.name, node);
      const before = await untilAttached(ctx, name);
      // Lets all retries of the attacher end: the storage and the API agree during this time.
      await ctx.consistently({ forMs: 2500, check: () => undefined });
      const calls = (await publishCalls(driver)).length;

      const request = { volume_id: volume.handle, node_id: id };
      const options = { timeoutMs: 10_000, signal: ctx.signal };
      await channel.call('/csi.v1.Controller/ControllerUnpublishVolume', request, options);

      await ctx.eventually(
        'the volume is attached again',
        async () => (await holdersOf(driver, volume.handle))[0] === id,
      );
      assert.ok((await publishCalls(driver)).length > calls);
      assert.deepEqual((await untilAttached(ctx, name)).status, before.status);
      await detach(ctx, name);
      await releaseVolume(ctx, volume, channel);
    },
  },
];
