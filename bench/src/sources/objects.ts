// SPDX-License-Identifier: Apache-2.0
/** The source of a test environment, and claims that name it: the bound claim `origin`, and its snapshot `daily`, which the bench writes itself. */
import { aClaim, inParallel, installSnapshotApi } from '@csi-sidecars/e2e';
import { connectCsi } from '@csi-sidecars/csi';
import { namespaces, persistentVolumeClaims, persistentVolumes, silentLogger } from '@csi-sidecars/runtime';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { createClaim, createClass, watchVolumes } from '../provisioner/claims.ts';
import { concurrency } from '../side-by-side/stored-volumes.ts';
import type { BenchEnvironment } from '../side-by-side/environment.ts';

export type Copy = 'restore' | 'clone';

const origin = 'origin';
const snapshot = 'daily';
const callMs = 30_000;

export async function prepareSources(environment: BenchEnvironment): Promise<void> {
  const { api, clock, patience } = environment.cluster;
  await createClass(environment);
  await installSnapshotApi(api, { pass: (ms) => clock.sleep(ms, patience.signal) });
}

/** A program of its own makes the source, and ends before anything is measured. */
export async function createSource(environment: BenchEnvironment, what: Copy): Promise<void> {
  await using watch = await watchVolumes(environment);
  await createClaim(environment, origin);
  const { process } = await environment.startSidecar();
  await watch.until('bound', [origin]);
  await process.stop();
  if (what === 'restore') await createSnapshot(environment);
}

async function createSnapshot(environment: BenchEnvironment): Promise<void> {
  const { cluster, namespace, driver } = environment;
  const { api } = cluster;
  const { spec } = await api.get(persistentVolumeClaims, { namespace, name: origin });
  const volume = await api.get(persistentVolumes, { name: spec?.volumeName ?? '' });
  const volumeHandle = volume.spec?.csi?.volumeHandle ?? '';
  const snapshotHandle = await cutSnapshot(environment, volumeHandle);
  const contentName = `${namespace}-${snapshot}`;
  const made = await api.create(volumeSnapshots, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: { namespace, name: snapshot },
    spec: { source: { volumeSnapshotContentName: contentName } },
  });
  await api.create(volumeSnapshotContents, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name: contentName },
    spec: {
      deletionPolicy: 'Retain',
      driver: driver.name,
      source: { snapshotHandle },
      volumeSnapshotRef: { namespace, name: snapshot, uid: made.metadata?.uid ?? '' },
    },
  });
  const status = { subresource: 'status' } as const;
  await api.patch(
    { resource: volumeSnapshotContents, ref: { name: contentName } },
    { type: 'merge', body: { status: { readyToUse: true, snapshotHandle } } },
    status,
  );
  await api.patch(
    { resource: volumeSnapshots, ref: { namespace, name: snapshot } },
    { type: 'merge', body: { status: { readyToUse: true, boundVolumeSnapshotContentName: contentName } } },
    status,
  );
}

async function cutSnapshot({ cluster, driver }: BenchEnvironment, volumeHandle: string): Promise<string> {
  const { clock, patience } = cluster;
  const channel = await connectCsi({ clock, log: silentLogger }, { address: `unix://${driver.socket}` });
  try {
    const { snapshot: cut } = await channel.call(
      '/csi.v1.Controller/CreateSnapshot',
      { name: snapshot, source_volume_id: volumeHandle },
      { timeoutMs: callMs, signal: patience.signal },
    );
    return cut?.snapshot_id ?? '';
  } finally {
    channel.close();
  }
}

export async function createCopies(environment: BenchEnvironment, names: readonly string[], what: Copy): Promise<void> {
  const dataSource =
    what === 'restore'
      ? { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: snapshot }
      : { kind: 'PersistentVolumeClaim', name: origin };
  await inParallel(names, concurrency, (name) => createClaim(environment, name, { spec: { dataSource } }));
}

/** A snapshot has lost the finalizer; a claim is deleted by this call, and gone. */
export async function isFree({ cluster, namespace }: BenchEnvironment, what: Copy): Promise<boolean> {
  const { api } = cluster;
  if (what === 'clone') {
    const { items } = await api.list(persistentVolumeClaims, { namespace });
    return items.every(({ metadata }) => metadata?.name !== origin);
  }
  const { metadata } = await api.get(volumeSnapshots, { namespace, name: snapshot });
  return (metadata?.finalizers ?? []).length === 0;
}

export async function deleteOrigin({ cluster, namespace }: BenchEnvironment): Promise<void> {
  await cluster.api.delete(persistentVolumeClaims, { namespace, name: origin });
}

/**
 * Snapshots of another driver, with the finalizer of a snapshot controller, and for each a claim of that driver that waits to be restored
 * from it: of all foreign claims those that cost most, because they may need their source.
 */
export async function createForeignSources({ cluster }: BenchEnvironment, count: number): Promise<void> {
  const { api, patience } = cluster;
  const namespace = 'foreign-snapshots';
  const { items } = await api.list(volumeSnapshots, { namespace, limit: 1 });
  // The test environment of the other implementation has made them.
  if (items.length > 0) return;
  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  await inParallel(Array(count).keys(), concurrency * 2, async (n) => {
    patience.signal.throwIfAborted();
    await api.create(volumeSnapshots, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshot',
      metadata: {
        namespace,
        name: `foreign-${n}`,
        labels: { app: 'database', backup: 'daily' },
        annotations: { 'backup.example.com/schedule': 'daily-at-two', 'backup.example.com/retention': '30d' },
        finalizers: ['snapshot.storage.kubernetes.io/volumesnapshot-bound-protection'],
      },
      spec: { source: { persistentVolumeClaimName: `data-${n}` }, volumeSnapshotClassName: 'other' },
    });
    const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: `foreign-${n}` };
    const claim = aClaim(`restored-${n}`, 'other', { dataSource });
    await api.create(persistentVolumeClaims, {
      ...claim,
      metadata: {
        namespace,
        name: `restored-${n}`,
        labels: { app: 'database', tier: 'backend' },
        annotations: { 'volume.kubernetes.io/storage-provisioner': 'other.csi.example.com' },
      },
    });
  });
}
