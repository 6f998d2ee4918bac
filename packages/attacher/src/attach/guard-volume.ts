// SPDX-License-Identifier: Apache-2.0
/**
 * Our finalizer on a PersistentVolume, before anything is published. Attachments of one volume to many nodes at once share one
 * request.
 */
import {
  addFinalizer,
  type ApiClient,
  type Informer,
  type PersistentVolume,
  persistentVolumes,
  toError,
} from '@csi-sidecars/runtime';
import type { AttachState } from './state.ts';

export interface GuardDeps {
  readonly client: ApiClient;
  readonly volumes: Informer<PersistentVolume>;
  readonly finalizer: string;
  /** By volume name: what is under way. */
  readonly guarding: Map<string, Promise<PersistentVolume>>;
}

export async function guardVolume(
  { client, volumes, finalizer, guarding }: GuardDeps,
  volume: PersistentVolume,
  signal: AbortSignal,
): Promise<Partial<Pick<AttachState, 'guarding' | 'volume'>>> {
  const name = volume.metadata?.name ?? '';
  const target = { resource: persistentVolumes, object: volume, finalizer };
  const add = (): Promise<PersistentVolume> => addFinalizer({ client, informer: volumes }, target, signal);
  try {
    const underWay = guarding.get(name) ?? add().finally(() => guarding.delete(name));
    guarding.set(name, underWay);
    return { guarding: 'done', volume: { kind: 'found', volume: await underWay } };
  } catch (error) {
    return { guarding: { failure: toError(error).message } };
  }
}
