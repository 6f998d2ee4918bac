// SPDX-License-Identifier: Apache-2.0
/** P-02: what a pod writes is there for the next pod. */
import assert from 'node:assert/strict';
import { isNotFound, pods, silentLogger } from '@csi-sidecars/runtime';
import { connectCsi } from '@csi-sidecars/csi';
import { introduce, type NodeEmulator } from '@csi-sidecars/sim';
import { createCalls } from '../../driver/calls.ts';
import { addEmulatedNode } from '../../nodes/emulated-node.ts';
import { checksumOf, writeData } from '../../workload/workload.ts';
import type { ScenarioContext } from '../context.ts';
import { aPod } from '../objects.ts';
import type { Scenario } from '../scenario.ts';
import { createClaim, createClass, untilBound } from './steps.ts';

const mebibytes = 64;

/** A node that has registered the scenario's driver through its socket and mounts with it. */
async function addMountingNode(ctx: ScenarioContext): Promise<NodeEmulator> {
  const { clock } = ctx.world;
  const channel = await connectCsi({ clock, log: silentLogger }, { address: `unix://${ctx.driver.socket}` });
  ctx.cleanUp.defer(() => channel.close());
  const driver = await introduce(ctx.driverName, channel, ctx.signal);
  return await addEmulatedNode(ctx, { name: ctx.nameOf('node'), driver, root: `${ctx.scratch}/kubelet` });
}

/** Starts a pod with the claim on the node and resolves with the folder that the volume is mounted at. */
async function runPod(ctx: ScenarioContext, node: NodeEmulator, name: string): Promise<string> {
  const { namespace } = ctx;
  await ctx.create(pods, aPod(name, 'claim', { nodeSelector: { 'kubernetes.io/hostname': node.name } }));
  await ctx.eventually(
    `pod ${name} runs`,
    async () => (await ctx.api.get(pods, { namespace, name })).status?.phase === 'Running',
  );
  const [path] = [...node.mounts().values()].flat();
  assert.ok(path !== undefined, 'a running pod has its volume mounted');
  return path;
}

async function endPod(ctx: ScenarioContext, name: string): Promise<void> {
  const { api, namespace } = ctx;
  await api.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 });
  await ctx.eventually(`pod ${name} is gone`, async () => {
    try {
      await api.get(pods, { namespace, name });
      return false;
    } catch (error) {
      return isNotFound(error);
    }
  });
}

export const data: readonly Scenario[] = [
  {
    id: 'P-02',
    title: `WaitForFirstConsumer: ${mebibytes} MiB written by one pod are read by the next; nothing is made before a pod`,
    needs: ['scheduler'],
    run: async (ctx) => {
      const driver = await ctx.startDriver({ flags: ['--enable-attach=false'] });
      const node = await addMountingNode(ctx);
      await ctx.startProvisioner();
      await createClaim(ctx, await createClass(ctx, { volumeBindingMode: 'WaitForFirstConsumer' }));
      await ctx.consistently({
        forMs: 1000,
        check: () => ctx.onDriver(async () => assert.deepEqual(await createCalls(driver), [])),
      });

      const written = await writeData(await runPod(ctx, node, 'writer'), 'data', mebibytes);
      await untilBound(ctx);
      await endPod(ctx, 'writer');
      const read = await checksumOf(await runPod(ctx, node, 'reader'), written.file);
      await endPod(ctx, 'reader');

      assert.equal(read, written.sha256);
      await ctx.onDriver(async () => assert.equal((await createCalls(driver)).length, 1));
    },
  },
];
