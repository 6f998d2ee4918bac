// SPDX-License-Identifier: Apache-2.0
/** The effects of the volume loop's actions. All decisions are in `decide`. */
import {
  addFinalizer,
  attempt,
  isConflict,
  isNotFound,
  type Performers,
  type PersistentVolume,
  persistentVolumes,
  removeFinalizer,
  type Step,
  toError,
} from '@csi-sidecars/runtime';
import { deleteObject } from '../delete-object.ts';
import { volumeFinalizer } from '../names.ts';
import { readSecret } from '../secret-values.ts';
import type { VolumeContext, VolumeLoop, VolumeState } from './state.ts';

export function performers({ channel, settings: { timeoutMs }, turns }: VolumeContext): Performers<VolumeLoop> {
  return {
    setFinalizer: async (step) => {
      const patched = await patchFinalizer(step, { change: step.action.change, signal: step.signal });
      if (!('volume' in patched)) return { finalizing: patched.result };
      turns?.forget(step.key);
      return { finalizing: 'done', volume: patched.volume };
    },
    startWait: async ({ key }) => {
      turns?.begin(key);
      return { waitMs: turns?.leftMs(key) ?? 0 };
    },
    readSecret: async ({ client, logger, key, action, signal }) => {
      const secrets = await readSecret(client, action.reference, signal);
      if (secrets.kind === 'found') return { secrets };
      // The secret may be gone with the namespace of the claim; the driver decides whether it needs it.
      logger.warn('Deleting a volume without its secret', { PV: key, reason: secrets.message });
      return { secrets: { values: undefined } };
    },
    deleteVolume: async ({ logger, key, action: { volumeId, migrated, secrets }, signal }) => {
      logger.info(4, 'Started', { PV: key });
      const request = { volume_id: volumeId, ...(secrets === undefined ? {} : { secrets }) };
      const deletion = await attempt(() =>
        channel.call('/csi.v1.Controller/DeleteVolume', request, { timeoutMs, signal, migrated }),
      );
      if (deletion === 'done') logger.info(4, 'Volume deleted', { PV: key });
      return { deletion };
    },
    removeObject,
    release: async (step) => {
      const patched = await patchFinalizer(step, { change: 'remove', signal: undefined });
      if ('volume' in patched || patched.result === 'gone') return { release: 'done' };
      return { release: patched.result };
    },
  };
}

interface FinalizerPatch {
  readonly change: 'add' | 'remove';
  readonly signal: AbortSignal | undefined;
}

async function patchFinalizer(
  { client, caches: { volumes }, state: { volume } }: Step<VolumeLoop>,
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

/**
 * Not cancelled: the volume is gone, and an object that remained would cause another DeleteVolume. What became of it is known before the
 * next run: by then a person may have given its handle to another volume.
 */
async function removeObject({
  client,
  caches: { volumes },
  state: { volume },
}: Step<VolumeLoop>): Promise<Partial<VolumeState>> {
  try {
    const left = await deleteObject({ client, cache: volumes }, { resource: persistentVolumes, object: volume });
    return left === undefined ? { removal: 'gone' } : { removal: 'done', volume: left };
  } catch (error) {
    // Another object has the name, or an admission webhook has refused the request.
    if (isConflict(error)) volumes.doubt(volume);
    return { removal: { failure: toError(error) } };
  }
}
