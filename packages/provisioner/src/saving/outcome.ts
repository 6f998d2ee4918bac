// SPDX-License-Identifier: Apache-2.0
/**
 * What became of the create of a PersistentVolume: rows S1 to S8 of the provisioner's page. The first save of a volume and
 * the background saves judge by the same rows.
 */
import { ApiError, isAlreadyExists, type PersistentVolume, toError } from '@csi-sidecars/runtime';
import { nameConflict, nameTaken, saveRefused } from '../claim/messages.ts';

export type SaveOutcome =
  /** `claim`: whether it was there when the PersistentVolume was sent; only then somebody is told. */
  | { readonly kind: 'saved'; readonly claim: 'there' | 'gone' }
  | { readonly kind: 'later'; readonly cause: Error }
  /** The volume is recorded for another claim. */
  | { readonly kind: 'taken'; readonly message: string }
  /** The volume is ours and unrecorded, and saving the same object again cannot help. */
  | { readonly kind: 'refused'; readonly message: string };

export type SaveFailure = { readonly kind: 'exists' } | Extract<SaveOutcome, { kind: 'later' | 'refused' }>;

const refusals: ReadonlySet<number> = new Set([400, 403, 413, 422]);

export function toSaveFailure(error: unknown, volumeName: string): SaveFailure {
  if (error instanceof ApiError) {
    if (isAlreadyExists(error)) return { kind: 'exists' }; // S2
    if (refusals.has(error.status)) return { kind: 'refused', message: saveRefused(volumeName, error.message) }; // S7
  }
  return { kind: 'later', cause: toError(error) }; // S8
}

/** The name is in use: by what we wanted to save, or by something else? */
export function compareExisting(
  existing: PersistentVolume,
  wanted: PersistentVolume,
): { readonly kind: 'same' } | Extract<SaveOutcome, { kind: 'taken' | 'refused' }> {
  const [found, ours] = [existing.spec, wanted.spec];
  const name = wanted.metadata?.name ?? '';
  const isSameVolume = found?.csi?.driver === ours?.csi?.driver && found?.csi?.volumeHandle === ours?.csi?.volumeHandle;
  if (isSameVolume && found?.claimRef?.uid === ours?.claimRef?.uid) return { kind: 'same' }; // S3
  const owner = `${found?.claimRef?.namespace ?? ''}/${found?.claimRef?.name ?? ''}`;
  if (isSameVolume) return { kind: 'taken', message: nameTaken(name, owner) }; // S4
  return { kind: 'refused', message: nameConflict(name, ours?.csi?.volumeHandle ?? '') }; // S5
}
