// SPDX-License-Identifier: Apache-2.0
/**
 * Our finalizer on a PersistentVolume, before anything is published. Attachments of one volume to many nodes at once share one
 * request.
 */
import {
  addedFinalizer,
  type ApiClient,
  type Informer,
  type PersistentVolume,
  persistentVolumes,
  toError,
} from '@csi-sidecars/runtime';
import type { AttachState } from './state.ts';

export interface GuardDeps {
  readonly api: ApiClient;
  readonly volumes: Informer<PersistentVolume>;
  readonly finalizer: string;
  /** By volume name: what is under way. */
  readonly guarding: Map<string, Promise<PersistentVolume>>;
}

export async function guardVolume(
  deps: GuardDeps,
  volume: PersistentVolume,
  signal: AbortSignal,
): Promise<Partial<Pick<AttachState, 'guarding' | 'volume'>>> {
  const { guarding } = deps;
  const name = volume.metadata?.name ?? '';
  try {
    const underWay = guarding.get(name) ?? add(deps, volume, signal).finally(() => guarding.delete(name));
    guarding.set(name, underWay);
    return { guarding: 'done', volume: { kind: 'found', volume: await underWay } };
  } catch (error) {
    return { guarding: { failure: toError(error).message } };
  }
}

async function add(
  { api, volumes, finalizer }: GuardDeps,
  volume: PersistentVolume,
  signal: AbortSignal,
): Promise<PersistentVolume> {
  const patched = await api.patch(
    { resource: persistentVolumes, ref: { name: volume.metadata?.name ?? '' } },
    { type: 'strategic', body: { metadata: addedFinalizer(volume, finalizer) } },
    { signal },
  );
  volumes.remember(patched);
  return patched;
}
