// SPDX-License-Identifier: Apache-2.0
/** The flows of claims that are restored from a snapshot or cloned from another claim, with faults at csi-provisioner. */
import { someSettings } from '@csi-sidecars/provisioner/testing';
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { volumeSnapshots } from '@csi-sidecars/volume';
import type { Flow } from './flows.ts';
import { programs, provisionerWith } from './programs.ts';
import { driverName, namespace, type Simulation } from './simulation.ts';
import { ofClaim, prepareSnapshots, takeSnapshot, untilReady } from './snapshot-flows.ts';

const fromSnapshot = {
  dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap' },
} as const;
const fromClaim = { dataSource: { kind: 'PersistentVolumeClaim', name: 'data' } } as const;

const slowFirst = (simulation: Simulation, ms: number): void =>
  void simulation.driver.faults.add({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms } });

async function isCalled(simulation: Simulation): Promise<void> {
  const { driver } = simulation;
  const before = driver.calls.length;
  await simulation.until(
    () => driver.calls.slice(before).some(({ method }) => method.endsWith('/CreateVolume')),
    60_000,
  );
}

/** The user acts a second after CreateVolume was called. */
async function whileCopying(simulation: Simulation, act: () => Promise<unknown>): Promise<void> {
  await isCalled(simulation);
  await simulation.clock.advance(1000);
  await act();
}

interface Story extends Pick<Flow, 'name' | 'act' | 'openWindows'> {
  readonly before?: (simulation: Simulation) => void;
}

const stories: readonly Story[] = [
  { name: 'restore', act: (simulation) => simulation.createClaim('copy', fromSnapshot) },
  {
    name: 'slow-restore',
    before: (simulation) => slowFirst(simulation, 12_000),
    act: (simulation) => simulation.createClaim('copy', fromSnapshot),
  },
  {
    name: 'delete-snapshot-while-restoring',
    before: (simulation) => slowFirst(simulation, 12_000),
    act: async (simulation) => {
      await simulation.createClaim('copy', fromSnapshot);
      await whileCopying(simulation, () => simulation.sim.client.delete(volumeSnapshots, { namespace, name: 'snap' }));
    },
  },
  {
    name: 'delete-claim-while-restoring',
    before: (simulation) => slowFirst(simulation, 25_000),
    act: async (simulation) => {
      await simulation.createClaim('copy', fromSnapshot);
      await simulation.clock.advance(15_000);
      await simulation.deleteClaim('copy');
    },
  },
  {
    // Both are deleted while it is open whether there is a volume.
    name: 'delete-both-while-restoring',
    before: (simulation) => slowFirst(simulation, 25_000),
    act: async (simulation) => {
      await simulation.createClaim('copy', fromSnapshot);
      await simulation.clock.advance(15_000);
      await simulation.deleteClaim('copy');
      await simulation.sim.client.delete(volumeSnapshots, { namespace, name: 'snap' });
    },
  },
  {
    name: 'two-restores',
    before: (simulation) => slowFirst(simulation, 5_000),
    act: async (simulation) => {
      await simulation.createClaim('copy', fromSnapshot);
      await simulation.createClaim('other', fromSnapshot);
    },
  },
  { name: 'clone', act: (simulation) => simulation.createClaim('copy', fromClaim) },
  {
    name: 'slow-clone',
    before: (simulation) => slowFirst(simulation, 12_000),
    act: (simulation) => simulation.createClaim('copy', fromClaim),
  },
  {
    name: 'delete-source-while-cloning',
    before: (simulation) => {
      const { objects } = simulation.sim.server;
      objects.change(persistentVolumes, { name: 'data' }, (volume) => ({
        ...volume,
        metadata: { ...volume.metadata, annotations: { 'pv.kubernetes.io/provisioned-by': driverName } },
        spec: { ...volume.spec, persistentVolumeReclaimPolicy: 'Delete' },
      }));
      slowFirst(simulation, 12_000);
    },
    act: async (simulation) => {
      await simulation.createClaim('copy', fromClaim);
      await whileCopying(simulation, () =>
        simulation.sim.client.delete(persistentVolumeClaims, { namespace, name: 'data' }),
      );
    },
  },
  {
    name: 'copy-without-content-source',
    before: ({ driver }) =>
      void driver.faults.add({
        method: 'CreateVolume',
        times: 1,
        action: { kind: 'answer', set: { volume: { content_source: null } } },
      }),
    act: (simulation) => simulation.createClaim('copy', fromClaim),
  },
];

const sweeping = provisionerWith({ features: { ...someSettings().features, snapshotSweep: true } });

export const sourceFlows: readonly Flow[] = stories.map(({ before, ...story }): Flow => ({
  ...story,
  program: sweeping,
  companions: [programs['csi-snapshotter'], programs['snapshot-controller']],
  snapshots: { processingMs: 0 },
  clones: 'volumes',
  prepare: async (simulation) => {
    await prepareSnapshots(simulation);
    await takeSnapshot(simulation, ofClaim);
    await untilReady(simulation);
    before?.(simulation);
  },
}));
