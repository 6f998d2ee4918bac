// SPDX-License-Identifier: Apache-2.0
/** What is so rare, or so wrong, that no story draws it. Crash points need it. */
import { type PersistentVolumeClaim, persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import type { FaultRule } from '@csi-sidecars/test-driver';
import { type VolumeSnapshot, volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { driverName, namespace } from '../names.ts';
import type { World } from '../world.ts';
import { kind, type Kinds } from './kind.ts';
import { claimOf } from './moments.ts';
import { tried } from './users.ts';

const weight = 0;
const limit = { timeoutMs: 10_000 };
const apiVersion = 'snapshot.storage.k8s.io/v1';

/** The handle of the claim's volume. */
function handleOf(world: World, claim: number): string {
  const owner = claimOf(world, claim);
  return (
    world.sim.server.objects.get(persistentVolumes, { name: owner?.spec?.volumeName ?? '' })?.spec?.csi?.volumeHandle ??
    ''
  );
}

/** What drivers with a defect say in CreateVolume. */
const answers: Readonly<Record<string, FaultRule['action']>> = {
  tooSmall: { kind: 'answer', set: { volume: { capacity_bytes: '1024' } } },
  noSource: { kind: 'answer', set: { volume: { content_source: null } } },
};

export const rareKinds: Kinds = {
  driverAnswers: kind({
    weight,
    draw: () => ({ answer: 'tooSmall' }),
    act: ({ drivers: [main] }, { answer }) =>
      void main.model.faults.add({ method: 'CreateVolume', times: 1, action: answers[answer]! }),
  }),
  /** The storage detaches a volume by itself. */
  storageDetaches: kind({
    weight,
    draw: () => ({ claim: 0 }),
    act: (world, { claim }) => {
      const [main] = world.drivers;
      const volume = main.model.volumes().find(({ id }) => id === handleOf(world, claim));
      const request = { volume_id: volume?.id ?? '', node_id: volume?.attachments[0]?.nodeId ?? '', secrets: {} };
      main.model
        .channel({ peer: 'storage' })
        .call('/csi.v1.Controller/ControllerUnpublishVolume', request, limit)
        .catch(() => undefined);
    },
  }),
  /** Kubelet says that it cannot expand the volume. */
  nodeCannotExpand: kind({
    weight,
    draw: () => ({ claim: 0 }),
    act: ({ client }, { claim }) => {
      const target = { resource: persistentVolumeClaims, ref: { namespace, name: `claim-${claim}` } };
      const status: PersistentVolumeClaim['status'] = {
        allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' },
      };
      void tried(client.patch(target, { type: 'merge', body: { status } }, { subresource: 'status' }));
    },
  }),
  /** An administrator imports a snapshot that was taken in the storage. */
  importSnapshot: kind({
    weight,
    draw: () => ({ claim: 0, snapshot: 0 }),
    act: (world, { claim, snapshot }) => {
      const { client, drivers } = world;
      const name = `snap-${snapshot}`;
      const write = async (): Promise<void> => {
        const made = await drivers[0].model
          .channel({ peer: 'administrator' })
          .call('/csi.v1.Controller/CreateSnapshot', { name, source_volume_id: handleOf(world, claim) }, limit);
        await client.create(volumeSnapshotContents, {
          apiVersion,
          kind: 'VolumeSnapshotContent',
          metadata: { name: 'imported' },
          spec: {
            driver: driverName,
            deletionPolicy: 'Delete',
            source: { snapshotHandle: made.snapshot?.snapshot_id ?? '' },
            volumeSnapshotRef: { namespace, name },
          },
        });
        const source: NonNullable<VolumeSnapshot['spec']>['source'] = { volumeSnapshotContentName: 'imported' };
        const kind = 'VolumeSnapshot';
        await client.create(volumeSnapshots, { apiVersion, kind, metadata: { namespace, name }, spec: { source } });
      };
      void tried(write());
    },
  }),
};
