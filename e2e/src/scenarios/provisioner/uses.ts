// SPDX-License-Identifier: Apache-2.0
/** P-21, P-24, P-29: claims that only one pod may use, that live as long as their pod, and that pods of several nodes share. */
import assert from 'node:assert/strict';
import { ignoreNotFound, persistentVolumeClaims, pods } from '@csi-sidecars/runtime';
import type { DriverInstance } from '../../driver/driver.ts';
import { callsOf, createCalls, deletedIds, publishCalls } from '../../driver/calls.ts';
import { addMountingNode } from '../../nodes/mounting-node.ts';
import { checksumOf, writeData } from '../../workload/workload.ts';
import { nodeIdOf, startAttachable } from '../attacher/steps.ts';
import type { ScenarioContext } from '../context.ts';
import { aPod } from '../objects.ts';
import { endPod, untilPod, untilRunning } from '../pod-life.ts';
import { createPod, mountedAt } from '../pods.ts';
import type { Scenario } from '../scenario.ts';
import { createClaim, createClass, deleteClaim, untilBound, untilVolumeGone } from './steps.ts';

/** The access modes that the driver was asked for when the volume was created, and when nodes mounted it. */
async function modesOf(driver: DriverInstance): Promise<readonly unknown[]> {
  const created = (await createCalls(driver)).map(({ request }) => request.volume_capabilities[0]);
  const mounted = await callsOf(driver, '/csi.v1.Node/NodePublishVolume');
  const all = [...created, ...mounted.map(({ request }) => request.volume_capability)];
  return [...new Set(all.map((capability) => capability?.access_mode?.mode))];
}

async function startUnattached(ctx: ScenarioContext): Promise<DriverInstance> {
  return await ctx.startDriver({ flags: ['--enable-attach=false'] });
}

export const uses: readonly Scenario[] = [
  {
    id: 'P-21',
    title:
      'a ReadWriteOncePod claim: a second pod is not scheduled until the first has gone; the driver is asked for a single writer',
    needs: ['controller-manager', 'scheduler', 'driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const driver = await startUnattached(ctx);
      const node = await addMountingNode(ctx, { name: ctx.nameOf('node') });
      await ctx.startProvisioner();
      await createClaim(ctx, await createClass(ctx), { spec: { accessModes: ['ReadWriteOncePod'] } });
      await createPod(ctx, { name: 'first', node });
      await untilRunning(ctx, 'first');
      const { volume } = await untilBound(ctx);
      assert.deepEqual(volume.spec?.accessModes, ['ReadWriteOncePod']);
      const { file, sha256 } = await writeData(mountedAt(node), 'data', 1);

      await createPod(ctx, { name: 'second', node });
      const { status } = await untilPod(ctx, {
        name: 'second',
        what: 'cannot be scheduled',
        check: (pod) => pod.status?.conditions?.some(({ reason }) => reason === 'Unschedulable'),
      });
      assert.match(
        status?.conditions?.find(({ reason }) => reason === 'Unschedulable')?.message ?? '',
        /ReadWriteOncePod/,
      );
      await ctx.consistently({
        forMs: 3000,
        check: async () => {
          const second = await ctx.api.get(pods, { namespace: ctx.namespace, name: 'second' });
          assert.equal(second.spec?.nodeName, undefined);
        },
      });

      await endPod(ctx, 'first');
      await untilRunning(ctx, 'second', 90_000);
      assert.equal(await checksumOf(mountedAt(node), file), sha256);
      await endPod(ctx, 'second');
      assert.deepEqual(await modesOf(driver), ['SINGLE_NODE_SINGLE_WRITER']);
      assert.equal((await createCalls(driver)).length, 1);
    },
  },
  {
    id: 'P-24',
    title:
      'a generic ephemeral volume: its claim belongs to the pod, and claim, PersistentVolume and volume go with it',
    needs: ['controller-manager', 'scheduler'],
    run: async (ctx) => {
      const driver = await startUnattached(ctx);
      const node = await addMountingNode(ctx, { name: ctx.nameOf('node') });
      await ctx.startProvisioner();
      const storageClassName = await createClass(ctx, { volumeBindingMode: 'WaitForFirstConsumer' });

      const resources = { requests: { storage: '1Gi' } };
      const volumeClaimTemplate = { spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources } };
      const pod = await ctx.create(
        pods,
        aPod('user', '', {
          nodeSelector: { 'kubernetes.io/hostname': node.name },
          volumes: [{ name: 'data', ephemeral: { volumeClaimTemplate } }],
        }),
      );
      await untilRunning(ctx, 'user', 90_000);
      const { claim, volume } = await untilBound(ctx, 'user-data');
      assert.deepEqual(
        claim.metadata?.ownerReferences?.map(({ kind, uid, controller }) => [kind, uid, controller]),
        [['Pod', pod.metadata?.uid, true]],
      );
      await writeData(mountedAt(node), 'data', 1);

      await endPod(ctx, 'user');
      await ctx.eventually('the claim is gone', async () => {
        const ref = { namespace: ctx.namespace, name: 'user-data' };
        return (await ctx.api.get(persistentVolumeClaims, ref).catch(ignoreNotFound)) === undefined;
      });
      await untilVolumeGone(ctx, volume.metadata?.name ?? '');
      await ctx.onDriver(async () => {
        assert.deepEqual([...new Set(await deletedIds(driver))], [volume.spec?.csi?.volumeHandle]);
        assert.deepEqual(await driver.control.volumes(), []);
      });
    },
  },
  {
    id: 'P-29',
    title: 'a ReadWriteMany claim: pods of two nodes use it at once, and each has the file of the other',
    needs: ['scheduler', 'driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const names = ['one', 'two'].map((what) => ctx.nameOf(what));
      const driver = await startAttachable(ctx, { nodes: names.map(nodeIdOf) });
      const add = (name: string) => addMountingNode(ctx, { name, socket: driver.socketOf(nodeIdOf(name)) });
      const one = await add(names[0]!);
      const two = await add(names[1]!);
      await ctx.startProvisioner();
      await ctx.startAttacher();
      await createClaim(ctx, await createClass(ctx), { spec: { accessModes: ['ReadWriteMany'] } });

      await createPod(ctx, { name: 'first', node: one });
      await createPod(ctx, { name: 'second', node: two });
      for (const name of ['first', 'second']) await untilRunning(ctx, name);
      const { volume } = await untilBound(ctx);
      const ofFirst = await writeData(mountedAt(one), 'of-first', 1);
      const ofSecond = await writeData(mountedAt(two), 'of-second', 1);
      assert.equal(await checksumOf(mountedAt(two), ofFirst.file), ofFirst.sha256);
      assert.equal(await checksumOf(mountedAt(one), ofSecond.file), ofSecond.sha256);

      await endPod(ctx, 'first');
      assert.equal(await checksumOf(mountedAt(two), ofFirst.file), ofFirst.sha256, 'the other node still has it');
      await endPod(ctx, 'second');
      const mode = 'MULTI_NODE_MULTI_WRITER';
      assert.deepEqual(await modesOf(driver), [mode]);
      const attached = (await publishCalls(driver)).map(
        ({ request }) => `${request.node_id} ${String(request.volume_capability?.access_mode?.mode)}`,
      );
      const expected = names.map((name) => `${nodeIdOf(name)} ${mode}`);
      assert.deepEqual(new Set(attached), new Set(expected));
      await deleteClaim(ctx);
      await untilVolumeGone(ctx, volume.metadata?.name ?? '');
    },
  },
];
