// SPDX-License-Identifier: Apache-2.0
/**
 * The outcome of creating a PersistentVolume: rows S1 to S8 and S10 of the provisioner's page. The first save of a volume and
 * the background saves use the same rows.
 */
import {
  ApiError,
  isAlreadyExists,
  type PersistentVolume,
  type PersistentVolumeClaim,
  toError,
} from '@csi-sidecars/runtime';
import { isSameVolume, toCsiVolume } from '@csi-sidecars/volume';
import { nameConflict, nameTaken, saveRefused } from '../claim/messages.ts';

export type SaveRow = `S${number}`;

export type SaveOutcome = { readonly row: SaveRow } &
  /** `claim`: whether the claim existed when the PersistentVolume was sent; only then it gets an event. */
  (
    | { readonly kind: 'saved'; readonly claim: 'there' | 'gone' }
    | { readonly kind: 'later'; readonly cause: Error }
    /** The volume is recorded for another claim. */
    | { readonly kind: 'taken'; readonly message: string }
    /** The volume is ours and unrecorded, and saving the same object again cannot help. */
    | { readonly kind: 'refused'; readonly message: string }
  );

export type SaveFailure =
  | { readonly row: 'S2'; readonly kind: 'exists' }
  | Extract<SaveOutcome, { kind: 'later' | 'refused' }>;

const refusals: ReadonlySet<number> = new Set([400, 403, 413, 422]);

export function toSaveFailure(error: unknown, volumeName: string): SaveFailure {
  if (error instanceof ApiError) {
    if (isAlreadyExists(error)) return { row: 'S2', kind: 'exists' };
    if (refusals.has(error.status)) {
      return { row: 'S7', kind: 'refused', message: saveRefused(volumeName, error.message) };
    }
  }
  return { row: 'S8', kind: 'later', cause: toError(error) };
}

/**
 * S10, C63: the record of the claim is about to be lost. The PV controller binds no claim to a PersistentVolume that is being deleted, unless the claim
 * names it. One that the claim names is deleted with it, and so is one whose claim is being deleted. If the phase is Bound, the claim may name it by now.
 */
export function isLosing(record: PersistentVolume, claim: PersistentVolumeClaim | undefined): boolean {
  const isLive = claim !== undefined && claim.metadata?.deletionTimestamp === undefined;
  const isWaiting = isLive && (claim.spec?.volumeName ?? '') === '';
  return isWaiting && record.metadata?.deletionTimestamp !== undefined;
}

export const recordDeleted = ({ metadata }: PersistentVolume): string =>
  `PersistentVolume ${metadata?.name ?? ''} of this claim is being deleted, and the claim cannot be bound to it. ` +
  'Once it is gone, the claim is provisioned again. ' +
  `If its finalizers (${metadata?.finalizers?.join(', ') ?? ''}) keep it, remove them, or delete the claim`; // S10, C63

/** The name is in use: by the record that we wanted to save, or by another one? */
export function compareExisting(
  existing: PersistentVolume,
  wanted: PersistentVolume,
): { readonly row: 'S3'; readonly kind: 'same' } | Extract<SaveOutcome, { kind: 'taken' | 'refused' }> {
  const name = wanted.metadata?.name ?? '';
  const isSame = isSameVolume(existing, wanted);
  const { claimRef } = existing.spec ?? {};
  if (isSame && claimRef?.uid === wanted.spec?.claimRef?.uid) return { row: 'S3', kind: 'same' };
  const owner = `${claimRef?.namespace ?? ''}/${claimRef?.name ?? ''}`;
  if (isSame) return { row: 'S4', kind: 'taken', message: nameTaken(name, owner) };
  const volume = toCsiVolume(wanted);
  return {
    row: 'S5',
    kind: 'refused',
    message: nameConflict(name, volume.kind === 'ok' ? volume.value.csi.volumeHandle : ''),
  };
}
