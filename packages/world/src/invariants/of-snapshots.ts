// SPDX-License-Identifier: Apache-2.0
/** What must hold for snapshots at every moment. Each function returns what is broken. */
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import type { FakeApiServer, ObjectAccess } from '@csi-sidecars/runtime/testing';
import {
  snapshotFinalizers,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';

/** `protected`, when CreateSnapshot is called: until the snapshot is ready or is being deleted, its claim cannot go. */
export function unprotectedSource(objects: ObjectAccess, { spec }: VolumeSnapshotContent): string | undefined {
  const { namespace, name = '', uid } = spec?.volumeSnapshotRef ?? {};
  const snapshot = objects.get(volumeSnapshots, { namespace, name });
  const isWanted = snapshot?.metadata?.uid === uid && snapshot?.metadata?.deletionTimestamp === undefined;
  if (!isWanted || snapshot?.status?.readyToUse === true) return undefined;
  const source = snapshot?.spec?.source?.persistentVolumeClaimName ?? '';
  const claim = objects.get(persistentVolumeClaims, { namespace, name: source });
  const isHeld = claim?.metadata?.finalizers?.includes(snapshotFinalizers.claim) === true;
  return isHeld ? undefined : `protected: a snapshot is taken of claim ${source}, which may go`;
}

/** `in-use`, after each request. */
export function deletedThoughKept({ requests, objects }: FakeApiServer): string | undefined {
  const { verb, resource, name = '', code, userAgent } = requests.at(-1) ?? {};
  if (verb !== 'delete' || resource !== volumeSnapshotContents.plural || code !== 200) return undefined;
  const isKept = objects.get(volumeSnapshotContents, { name })?.spec?.deletionPolicy === 'Retain';
  const isByProgram = userAgent?.startsWith('snapshot-controller') === true;
  return isKept && isByProgram ? `in-use: content ${name} is deleted, and is to be retained` : undefined;
}
