// SPDX-License-Identifier: Apache-2.0
/** Which existing volume a claim is bound to. Pure. */
import { parseQuantity } from '@csi-sidecars/runtime/testing';
import type { Node, PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { matchesLabels, matchesNode } from './selectors.ts';

/** Whether the volume refers to this claim; the uid is empty if a user wrote the reference. */
export function isReservedFor(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const reference = volume.spec?.claimRef;
  if (reference === undefined) return false;
  const { name, namespace, uid } = claim.metadata ?? {};
  const same = reference.name === name && reference.namespace === namespace;
  return same && ((reference.uid ?? '') === '' || reference.uid === uid);
}

/**
 * A volume that is reserved for the claim, else the smallest free one that satisfies it. For a claim that waits for its
 * first consumer, `node` is the node of that consumer, and only volumes that this node can reach match.
 */
export function findMatch(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  node?: Node,
): PersistentVolume | undefined {
  const usable = volumes.filter((volume) => volume.metadata?.deletionTimestamp === undefined);
  const reserved = usable.find((volume) => isReservedFor(volume, claim));
  if (reserved !== undefined) return reserved;
  const free = usable.filter((volume) => volume.spec?.claimRef === undefined && volume.status?.phase === 'Available');
  return free
    .filter((volume) => satisfies(volume, claim) && (node === undefined || matchesNode(volume, node)))
    .reduce<PersistentVolume | undefined>(
      (best, volume) => (best === undefined || sizeOf(volume) < sizeOf(best) ? volume : best),
      undefined,
    );
}

function sizeOf(volume: PersistentVolume): bigint {
  return bytes(volume.spec?.capacity?.['storage']);
}

function bytes(quantity: string | undefined): bigint {
  return parseQuantity(quantity)?.nanos ?? 0n;
}

function satisfies(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const { spec: offered = {} } = volume;
  const { spec: wanted = {} } = claim;
  return (
    sizeOf(volume) >= bytes(wanted.resources?.requests?.['storage']) &&
    (offered.storageClassName ?? '') === (wanted.storageClassName ?? '') &&
    (offered.volumeAttributesClassName ?? '') === (wanted.volumeAttributesClassName ?? '') &&
    (offered.volumeMode ?? 'Filesystem') === (wanted.volumeMode ?? 'Filesystem') &&
    (wanted.accessModes ?? []).every((mode) => offered.accessModes?.includes(mode) === true) &&
    matchesLabels(wanted.selector, volume.metadata?.labels ?? {})
  );
}
