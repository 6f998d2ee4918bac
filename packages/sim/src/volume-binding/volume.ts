// SPDX-License-Identifier: Apache-2.0
/**
 * The next action for a volume. Pure. First match wins:
 *
 * | claimRef | claim | action |
 * |---|---|---|
 * | absent, or without uid | | phase Available |
 * | with uid | gone, or another of that name | phase Released, then reclaim |
 * | with uid | names this volume | phase Bound |
 * | with uid | names no volume yet | none: the claim's loop binds it |
 * | with uid | names another volume, this one was provisioned for it | phase Released, then reclaim |
 * | with uid | names another volume | unbind |
 *
 * Reclaim of a Released volume: Retain does nothing; Delete is left to the external provisioner that made the volume; a
 * volume that was not provisioned cannot be deleted and becomes Failed.
 */
import type { PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { boundByController, provisionedBy } from '../annotations.ts';

export interface VolumeState {
  readonly volume: PersistentVolume;
  /** The claim of the name in claimRef, whatever its uid. */
  readonly claim: PersistentVolumeClaim | undefined;
}

export type VolumeAction =
  | { readonly kind: 'none' }
  | { readonly kind: 'phase'; readonly phase: 'Available' | 'Bound' | 'Released' }
  | { readonly kind: 'fail'; readonly message: string }
  | { readonly kind: 'unbind' };

const none: VolumeAction = { kind: 'none' };

export function decideVolume({ volume, claim }: VolumeState): VolumeAction {
  const reference = volume.spec?.claimRef;
  if (reference === undefined || (reference.uid ?? '') === '') return toPhase(volume, 'Available');
  if (claim === undefined || claim.metadata?.uid !== reference.uid) return release(volume);
  const chosen = claim.spec?.volumeName ?? '';
  if (chosen === volume.metadata?.name) return toPhase(volume, 'Bound');
  if (chosen === '') return none;
  return isProvisioned(volume) && isDeleted(volume) ? release(volume) : { kind: 'unbind' };
}

function toPhase(volume: PersistentVolume, phase: 'Available' | 'Bound' | 'Released'): VolumeAction {
  return volume.status?.phase === phase ? none : { kind: 'phase', phase };
}

function release(volume: PersistentVolume): VolumeAction {
  if (volume.status?.phase === 'Failed') return none;
  if (volume.status?.phase !== 'Released') return { kind: 'phase', phase: 'Released' };
  if (!isDeleted(volume) || isProvisioned(volume)) return none;
  const message = `error getting deleter volume plugin for volume "${volume.metadata?.name}": no deletable volume plugin matched`;
  return { kind: 'fail', message };
}

function isDeleted(volume: PersistentVolume): boolean {
  return volume.spec?.persistentVolumeReclaimPolicy === 'Delete';
}

function isProvisioned(volume: PersistentVolume): boolean {
  return (volume.metadata?.annotations?.[provisionedBy] ?? '') !== '';
}

/** The volume without its claim. A reference that a user wrote keeps the name and loses the uid. */
export function unbound(volume: PersistentVolume): PersistentVolume {
  const { [boundByController]: ours, ...annotations } = volume.metadata?.annotations ?? {};
  const { claimRef, ...spec } = volume.spec ?? {};
  const { uid: _uid, resourceVersion: _version, ...reference } = claimRef ?? {};
  return {
    ...volume,
    metadata: { ...volume.metadata, annotations },
    spec: ours === undefined ? { ...spec, claimRef: reference } : spec,
  };
}
