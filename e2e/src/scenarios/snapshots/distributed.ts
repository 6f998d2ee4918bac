// SPDX-License-Identifier: Apache-2.0
/** S-15: each node's csi-snapshotter takes the snapshots of the volumes on its node. */
import assert from 'node:assert/strict';
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { stubDriver } from '@csi-sidecars/sim';
import { managedByLabel } from '@csi-sidecars/volume';
import { addEmulatedNode } from '../../nodes/emulated-node.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotCalls,
  createSnapshotClass,
  deleteSnapshot,
  deleteSnapshotCalls,
  installDefinitions,
  quickRetries,
  untilNoSnapshots,
  untilReady,
} from './steps.ts';

const zoneKey = 'topology.e2e.csi.test/zone';

/** A volume on this node, and a csi-snapshotter beside the node's part of the driver. */
async function prepareNode(ctx: ScenarioContext, node: string, storageClass: string): Promise<void> {
  await ctx.startSidecar('csi-snapshotter', {
    args: [...quickRetries, '--node-deployment'],
    env: { NODE_NAME: node },
    replica: node,
    socket: ctx.driver.socketOf(node),
  });
  await createClaim(ctx, storageClass, { name: node });
  const target = { resource: persistentVolumeClaims, ref: { namespace: ctx.namespace, name: node } };
  const annotations = { 'volume.kubernetes.io/selected-node': node };
  await ctx.api.patch(target, { type: 'merge', body: { metadata: { annotations } } });
  await untilBound(ctx, node);
}

export const distributedSnapshots: readonly Scenario[] = [
  {
    id: 'S-15',
    title:
      'distributed snapshotting: contents name the node of their volume, and only its csi-snapshotter calls the driver',
    needs: ['driver-journal', 'driver-settings', 'host-names'],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      await installDefinitions(ctx);
      const names = [ctx.nameOf('a'), ctx.nameOf('b')];
      for (const name of names) {
        const driver = stubDriver(ctx.driverName, { nodeId: name, topology: { [zoneKey]: name } });
        await addEmulatedNode(ctx, { name, driver });
      }
      const zones = names.map((id) => ({ id, segments: { [zoneKey]: id }, maxVolumes: 0 }));
      await ctx.startDriver({ nodes: names, settings: { nodes: zones } });
      await ctx.startProvisioner();
      const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch'] }];
      await ctx.grant('snapshot-controller', 'nodes', rules);
      const args = [...quickRetries, '--enable-distributed-snapshotting'];
      await ctx.startSidecar('snapshot-controller', { args });
      const storageClass = await createClass(ctx, { volumeBindingMode: 'WaitForFirstConsumer' });
      const volumeSnapshotClassName = await createSnapshotClass(ctx);
      for (const name of names) {
        await prepareNode(ctx, name, storageClass);
        const source = { persistentVolumeClaimName: name };
        await createSnapshot(ctx, { name, volumeSnapshotClassName, source });
      }

      for (const name of names) {
        const { content } = await untilReady(ctx, name);
        assert.equal(content.metadata?.labels?.[managedByLabel], name);
        const [call] = (await createSnapshotCalls(ctx)).filter(
          ({ request }) => request.source_volume_id === content.spec?.source?.volumeHandle,
        );
        assert.equal(call?.nodeId, name);
      }
      assert.equal((await createSnapshotCalls(ctx)).length, names.length);
      for (const name of names) await deleteSnapshot(ctx, name);
      await untilNoSnapshots(ctx);
      assert.deepEqual((await deleteSnapshotCalls(ctx)).map(({ nodeId }) => nodeId).toSorted(), names);
    },
  },
];
