// SPDX-License-Identifier: Apache-2.0
/** One action of the volume loop done, and what was learned from it. */
import type { CsiChannel } from '@csi-sidecars/csi';
import {
  addFinalizer,
  type ApiClient,
  type Informer,
  isNotFound,
  type Logger,
  type PersistentVolume,
  persistentVolumes,
  removeFinalizer,
  toError,
} from '@csi-sidecars/runtime';
import { volumeFinalizer } from '../names.ts';
import { readSecret } from '../secret-values.ts';
import type { Step, VolumeState } from './state.ts';

export interface PerformDeps {
  readonly client: ApiClient;
  readonly channel: CsiChannel;
  readonly logger: Logger;
  readonly volumes: Pick<Informer<PersistentVolume>, 'remember'>;
  readonly timeoutMs: number;
}

export async function perform(
  deps: PerformDeps,
  { volume }: VolumeState,
  { action, signal }: { readonly action: Step; readonly signal: AbortSignal },
): Promise<Partial<VolumeState>> {
  switch (action.kind) {
    case 'setFinalizer': {
      const patched = await patchFinalizer(deps, volume, { change: action.change, signal });
      return 'volume' in patched ? { finalizing: 'done', volume: patched.volume } : { finalizing: patched.result };
    }
    case 'readSecret': {
      const secrets = await readSecret(deps.client, action.reference, signal);
      if (secrets.kind === 'found') return { secrets };
      // The secret may be gone with the namespace of the claim; the driver decides whether it needs it.
      deps.logger.warn('Deleting a volume without its secret', { PV: volume.metadata?.name, reason: secrets.message });
      return { secrets: { values: undefined } };
    }
    case 'deleteVolume': {
      const PV = volume.metadata?.name;
      deps.logger.info(4, 'Started', { PV });
      const deletion = await deleteVolume(deps, volume, { secrets: action.secrets, signal });
      if (deletion === 'done') deps.logger.info(4, 'Volume deleted', { PV });
      return { deletion };
    }
    case 'removeObject':
      return removeObject(deps, volume);
    case 'release': {
      const patched = await patchFinalizer(deps, volume, { change: 'remove', signal: undefined });
      if ('volume' in patched || patched.result === 'gone') return { release: 'done' };
      return { release: patched.result };
    }
  }
}

interface FinalizerPatch {
  readonly change: 'add' | 'remove';
  readonly signal: AbortSignal | undefined;
}

async function patchFinalizer(
  { client, volumes }: PerformDeps,
  volume: PersistentVolume,
  { change, signal }: FinalizerPatch,
): Promise<{ readonly volume: PersistentVolume } | { readonly result: 'gone' | { readonly failure: Error } }> {
  const { name = '' } = volume.metadata ?? {};
  const write = change === 'add' ? addFinalizer : removeFinalizer;
  const target = { resource: persistentVolumes, object: volume, finalizer: volumeFinalizer };
  try {
    return { volume: await write({ client, informer: volumes }, target, signal) };
  } catch (error) {
    if (isNotFound(error)) return { result: 'gone' };
    const failure = new Error(`failed to ${change} the finalizer on volume ${name}: ${toError(error).message}`, {
      cause: error,
    });
    return { result: { failure } };
  }
}

interface DeleteCall {
  readonly secrets: Readonly<Record<string, string>> | undefined;
  readonly signal: AbortSignal;
}

async function deleteVolume(
  { channel, timeoutMs }: PerformDeps,
  volume: PersistentVolume,
  { secrets, signal }: DeleteCall,
): Promise<VolumeState['deletion']> {
  const request = { volume_id: volume.spec?.csi?.volumeHandle ?? '', ...(secrets === undefined ? {} : { secrets }) };
  try {
    await channel.call('/csi.v1.Controller/DeleteVolume', request, { timeoutMs, signal });
    return 'done';
  } catch (error) {
    return { failure: toError(error) };
  }
}

/** Not cancelled: the volume is gone, and an object that outlives it would only be deleted once more. */
async function removeObject({ client, volumes }: PerformDeps, volume: PersistentVolume): Promise<Partial<VolumeState>> {
  const { name = '', uid } = volume.metadata ?? {};
  try {
    const preconditions = uid === undefined ? {} : { uid };
    const left = await client.delete(persistentVolumes, { name }, { preconditions });
    if (left === undefined) return { removal: 'gone' };
    volumes.remember(left);
    return { removal: 'done', volume: left };
  } catch (error) {
    // A conflict may be the precondition, or anything else: the next run knows, and until then the object counts as there.
    return { removal: isNotFound(error) ? 'gone' : { failure: toError(error) } };
  }
}
