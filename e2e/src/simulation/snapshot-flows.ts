// SPDX-License-Identifier: Apache-2.0
/**
 * The flows of snapshots, each twice: once with faults at csi-snapshotter, once at snapshot-controller. The other program runs beside it,
 * without faults.
 */
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import {
  snapshotAnnotations,
  type VolumeGroupSnapshot,
  volumeGroupSnapshotClasses,
  volumeGroupSnapshots,
  type VolumeSnapshot,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { groupSnapshotTypes, snapshotTypes } from '@csi-sidecars/volume/testing';
import { prepareBoundClaim } from './bound-claim.ts';
import { addClass, type Flow } from './flows.ts';
import { programs } from './programs.ts';
import { driverName, namespace, type Simulation } from './simulation.ts';

const [snapshotApi, groupApi] = ['snapshot.storage.k8s.io/v1', 'groupsnapshot.storage.k8s.io/v1'];

export async function prepareSnapshots(simulation: Simulation): Promise<void> {
  const { server, client } = simulation.sim;
  server.addTypes(...snapshotTypes, ...groupSnapshotTypes);
  addClass(simulation);
  await prepareBoundClaim(simulation);
  const fields = { driver: driverName, deletionPolicy: 'Delete' } as const;
  await client.create(volumeSnapshotClasses, {
    apiVersion: snapshotApi,
    kind: 'VolumeSnapshotClass',
    metadata: { name: 'daily', annotations: { [snapshotAnnotations.isDefaultClass]: 'true' } },
    ...fields,
  });
  await client.create(volumeGroupSnapshotClasses, {
    apiVersion: groupApi,
    kind: 'VolumeGroupSnapshotClass',
    metadata: { name: 'together' },
    ...fields,
  });
}

export async function takeSnapshot(
  { sim }: Simulation,
  source: NonNullable<VolumeSnapshot['spec']>['source'],
): Promise<void> {
  await sim.client.create(volumeSnapshots, {
    apiVersion: snapshotApi,
    kind: 'VolumeSnapshot',
    metadata: { namespace, name: 'snap' },
    spec: { source: { ...source } },
  });
}
export const ofClaim: NonNullable<VolumeSnapshot['spec']>['source'] = { persistentVolumeClaimName: 'data' };

async function takeGroup({ sim }: Simulation): Promise<void> {
  const target = { resource: persistentVolumeClaims, ref: { namespace, name: 'data' } };
  await sim.client.patch(target, { type: 'merge', body: { metadata: { labels: { app: 'db' } } } });
  await sim.client.create(volumeGroupSnapshots, {
    apiVersion: groupApi,
    kind: 'VolumeGroupSnapshot',
    metadata: { namespace, name: 'group' },
    spec: {
      volumeGroupSnapshotClassName: 'together',
      source: { selector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } },
    },
  });
}

const snapshot = ({ sim }: Simulation): VolumeSnapshot | undefined =>
  sim.server.objects.get(volumeSnapshots, { namespace, name: 'snap' });
const group = ({ sim }: Simulation): VolumeGroupSnapshot | undefined =>
  sim.server.objects.get(volumeGroupSnapshots, { namespace, name: 'group' });

export async function untilReady(
  simulation: Simulation,
  read: (simulation: Simulation) => VolumeSnapshot | VolumeGroupSnapshot | undefined = snapshot,
): Promise<void> {
  if (!(await simulation.until(() => read(simulation)?.status?.readyToUse === true))) {
    throw new Error('it was never ready');
  }
}

async function remove({ sim }: Simulation): Promise<void> {
  await sim.client.delete(volumeSnapshots, { namespace, name: 'snap' });
}

const slow = ({ driver }: Simulation, method: string): void =>
  void driver.faults.add({ method, at: 'during', times: 1, action: { kind: 'delay', ms: 8_000 } });
const refuse = ({ driver }: Simulation, method: string, code: 'Internal' | 'Unavailable'): void =>
  void driver.faults.add({ method, times: 2, action: { kind: 'fail', code } });

interface Story extends Pick<Flow, 'act'> {
  readonly name: string;
  /** How long the driver needs until a snapshot is ready. Default: no time. */
  readonly processingMs?: number;
  /** After the claim and the classes are there. */
  readonly before?: (simulation: Simulation) => Promise<void> | void;
}

const stories: readonly Story[] = [
  { name: 'snapshot', act: (simulation) => takeSnapshot(simulation, ofClaim) },
  { name: 'slow-snapshot', processingMs: 5_000, act: (simulation) => takeSnapshot(simulation, ofClaim) },
  {
    name: 'refused-snapshot',
    before: (simulation) => refuse(simulation, 'CreateSnapshot', 'Internal'),
    act: (simulation) => takeSnapshot(simulation, ofClaim),
  },
  {
    name: 'open-snapshot',
    before: (simulation) => refuse(simulation, 'CreateSnapshot', 'Unavailable'),
    act: (simulation) => takeSnapshot(simulation, ofClaim),
  },
  {
    name: 'delete-snapshot',
    before: async (simulation) => {
      await takeSnapshot(simulation, ofClaim);
      await untilReady(simulation);
    },
    act: remove,
  },
  {
    name: 'delete-while-taking',
    before: (simulation) => slow(simulation, 'CreateSnapshot'),
    act: async (simulation) => {
      await takeSnapshot(simulation, ofClaim);
      await simulation.clock.advance(3_000);
      await remove(simulation);
    },
  },
  {
    name: 'import-snapshot',
    before: async ({ driver }) => {
      const [volume] = driver.volumes();
      const request = { name: 'old', source_volume_id: volume?.id ?? '' };
      await driver.channel().call('/csi.v1.Controller/CreateSnapshot', request, { timeoutMs: 10_000 });
    },
    act: async (simulation) => {
      const [old] = simulation.driver.snapshots();
      await simulation.sim.client.create(volumeSnapshotContents, {
        apiVersion: snapshotApi,
        kind: 'VolumeSnapshotContent',
        metadata: { name: 'imported' },
        spec: {
          driver: driverName,
          deletionPolicy: 'Delete',
          source: { snapshotHandle: old?.id ?? '' },
          volumeSnapshotRef: { namespace, name: 'snap' },
        },
      });
      await takeSnapshot(simulation, { volumeSnapshotContentName: 'imported' });
    },
  },
  { name: 'group', act: takeGroup },
  { name: 'slow-group', processingMs: 5_000, act: takeGroup },
  {
    name: 'delete-group',
    before: async (simulation) => {
      await takeGroup(simulation);
      await untilReady(simulation, group);
      await simulation.clock.advance(60_000);
    },
    act: async ({ sim }) => void (await sim.client.delete(volumeGroupSnapshots, { namespace, name: 'group' })),
  },
  {
    name: 'delete-while-grouping',
    before: (simulation) => slow(simulation, 'CreateVolumeGroupSnapshot'),
    act: async (simulation) => {
      await takeGroup(simulation);
      await simulation.clock.advance(3_000);
      await simulation.sim.client.delete(volumeGroupSnapshots, { namespace, name: 'group' });
    },
  },
];

const pairs = [
  { struck: 'csi-snapshotter', beside: 'snapshot-controller' },
  { struck: 'snapshot-controller', beside: 'csi-snapshotter' },
] as const;

export const snapshotFlows: readonly Flow[] = pairs.flatMap(({ struck, beside }) =>
  stories.map(({ name, processingMs = 0, before, act }): Flow => ({
    name: `${name}-${struck}`,
    program: programs[struck],
    companions: [programs[beside]],
    snapshots: { processingMs },
    prepare: async (simulation) => {
      await prepareSnapshots(simulation);
      await before?.(simulation);
    },
    act,
  })),
);
