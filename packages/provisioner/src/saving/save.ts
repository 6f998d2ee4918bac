// SPDX-License-Identifier: Apache-2.0
/** One try to save a PersistentVolume, judged by rows S1 to S8. */
import {
  type ApiClient,
  type Informer,
  isNotFound,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumes,
} from '@csi-sidecars/runtime';
import { compareExisting, type SaveOutcome, toSaveFailure } from './outcome.ts';

export interface SaveDeps {
  readonly client: ApiClient;
  readonly volumes: Pick<Informer<PersistentVolume>, 'remember'>;
  readonly claims: Pick<Informer<PersistentVolumeClaim>, 'lister'>;
}

/** Not cancelled with anything: the volume exists, and the sooner it is recorded the better. */
export async function saveVolume(
  { client, volumes, claims }: SaveDeps,
  volume: PersistentVolume,
): Promise<SaveOutcome> {
  const name = volume.metadata?.name ?? '';
  // Asked before the request: once the volume is there the claim is bound, and bound claims are not kept.
  const isThere = claims.lister.byIndex('uid', volume.spec?.claimRef?.uid ?? '').length > 0;
  const saved: SaveOutcome = { kind: 'saved', claim: isThere ? 'there' : 'gone' };
  try {
    volumes.remember(await client.create(persistentVolumes, volume));
    return saved; // S1
  } catch (error) {
    const failure = toSaveFailure(error, name);
    if (failure.kind !== 'exists') return failure;
  }
  try {
    const existing = await client.get(persistentVolumes, { name });
    const comparison = compareExisting(existing, volume);
    if (comparison.kind !== 'same') return comparison;
    volumes.remember(existing);
    return saved; // S3
  } catch (error) {
    const cause = error instanceof Error && !isNotFound(error) ? error : new Error(`PersistentVolume ${name} vanished`);
    return { kind: 'later', cause }; // S6
  }
}
