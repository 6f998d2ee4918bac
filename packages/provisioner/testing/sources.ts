// SPDX-License-Identifier: Apache-2.0
/** Sources of data that exist in the driver and in the API server: the bound claim `origin`, and its snapshot `daily`. */
import type { CsiChannel } from '@csi-sidecars/csi';
import { type PersistentVolumeClaim, persistentVolumes } from '@csi-sidecars/runtime';
import { type VolumeSnapshot, volumeSnapshots } from '@csi-sidecars/volume';
import type { TestCluster } from '@csi-sidecars/test-driver/testing';
import { volumeFinalizer } from '../src/names.ts';
import { aBoundVolume, aContent, aSnapshot, type ClaimFacts, anOrigin, type SnapshotFacts } from './builders.ts';

/** Capabilities of a driver that copies volumes and restores snapshots. */
export const copying = ['CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT', 'CLONE_VOLUME', 'MODIFY_VOLUME'] as const;

export const fromSnapshot = {
  dataSource: { kind: 'VolumeSnapshot', apiGroup: 'snapshot.storage.k8s.io', name: 'daily' },
} as const;
export const fromClaim = { dataSource: { kind: 'PersistentVolumeClaim', name: 'origin' } } as const;

export interface Sources {
  readonly volumeId: string;
  readonly snapshotId: string;
}

export interface SourceFacts {
  readonly namespace?: string;
  readonly snapshot?: SnapshotFacts;
  readonly origin?: ClaimFacts;
}

/** The driver answers the next CreateVolume with the volume of `origin`. */
export function answerWithOrigin({ driver, server }: TestCluster): void {
  const origin = server.objects.get(persistentVolumes, { name: 'pv-origin' });
  const volume = { volume_id: origin?.spec?.csi?.volumeHandle ?? '', content_source: null };
  driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'answer', set: { volume } } });
}

/** The calls that create them are not recorded. */
export async function prepareSources(
  { driver, server }: TestCluster,
  { namespace = 'team', snapshot = {}, origin = {} }: SourceFacts = {},
): Promise<Sources> {
  const channel: CsiChannel = driver.channel();
  const call = { timeoutMs: 1000 };
  const capability = { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } };
  const made = await channel.call(
    '/csi.v1.Controller/CreateVolume',
    { name: 'origin', capacity_range: { required_bytes: '5368709120' }, volume_capabilities: [capability] },
    call,
  );
  const volumeId = made.volume?.volume_id ?? '';
  const cut = await channel.call(
    '/csi.v1.Controller/CreateSnapshot',
    { name: 'daily', source_volume_id: volumeId },
    call,
  );
  const snapshotId = cut.snapshot?.snapshot_id ?? '';
  driver.forgetCalls();
  const csi = { driver: driver.settings.name, volumeHandle: volumeId };
  server.seed(anOrigin({ namespace, finalizers: ['kubernetes.io/pvc-protection'], ...origin }));
  server.seed(aBoundVolume({ namespace, finalizers: [volumeFinalizer], spec: { csi } }));
  server.seed(aSnapshot({ namespace, ...snapshot }));
  const spec = { driver: driver.settings.name };
  server.seed(aContent({ namespace, spec, status: { readyToUse: true, snapshotHandle: snapshotId } }));
  return { volumeId, snapshotId };
}

export function snapshotOf({ server }: TestCluster, namespace = 'team'): VolumeSnapshot | undefined {
  return server.objects.get(volumeSnapshots, { namespace, name: 'daily' });
}

export function finalizersOf(
  object: VolumeSnapshot | PersistentVolumeClaim | undefined,
): readonly string[] | undefined {
  return object?.metadata?.finalizers;
}
