// SPDX-License-Identifier: Apache-2.0
/** One attempt to save a PersistentVolume, with the outcome of rows S1 to S8 and S10: the first one of the claim loop, and those of the save loop. */
import {
  type ApiClient,
  isNotFound,
  type Lister,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumes,
  writeObject,
  type WrittenCache,
} from '@csi-sidecars/runtime';
import { compareExisting, isLosing, recordDeleted, type SaveOutcome, toSaveFailure } from './outcome.ts';

export interface SaveDeps {
  readonly client: ApiClient;
  readonly volumes: WrittenCache<PersistentVolume>;
  /** With the index `uid`. */
  readonly claims: Pick<Lister<PersistentVolumeClaim>, 'byIndex'>;
}

/** Never cancelled: the volume exists, and should be recorded as soon as possible. */
export async function saveVolume(
  { client, volumes, claims }: SaveDeps,
  volume: PersistentVolume,
): Promise<SaveOutcome> {
  const name = volume.metadata?.name ?? '';
  // Read before the request: once the PersistentVolume exists the claim is bound, and bound claims are not kept in the cache.
  const [claim] = claims.byIndex('uid', volume.spec?.claimRef?.uid ?? '');
  const saved = { kind: 'saved', claim: claim === undefined ? 'gone' : 'there' } as const;
  try {
    await writeObject(volumes, volume, () => client.create(persistentVolumes, volume));
    return { row: 'S1', ...saved };
  } catch (error) {
    const failure = toSaveFailure(error, name);
    if (failure.kind !== 'exists') return failure;
  }
  try {
    const existing = await client.get(persistentVolumes, { name });
    const comparison = compareExisting(existing, volume);
    if (comparison.kind !== 'same') return comparison;
    volumes.remember(existing);
    // A claim that the cache shows as it was before may be bound. If not, C64 finds out.
    const isBound = existing.status?.phase === 'Bound';
    if (!isBound && isLosing(existing, claim)) return { row: 'S10', kind: 'refused', message: recordDeleted(existing) };
    return { row: 'S3', ...saved };
  } catch (error) {
    const cause = error instanceof Error && !isNotFound(error) ? error : new Error(`PersistentVolume ${name} vanished`);
    return { row: 'S6', kind: 'later', cause };
  }
}
