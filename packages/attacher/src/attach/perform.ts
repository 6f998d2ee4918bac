// SPDX-License-Identifier: Apache-2.0
/** Performs the actions of the attach loop. All decisions are in `decide`. */
import {
  addFinalizer,
  ask,
  findObject,
  isFailed,
  type Performers,
  persistentVolumes,
  readSecret,
  type Step,
} from '@csi-sidecars/runtime';
import * as messages from './messages.ts';
import type { AttachContext, AttachLoop, AttachState, Learned } from './state.ts';
import { publish, unpublish, unpublishOrphan } from './volume-calls.ts';
import { mark, release, report, saveAttached, saveDetached } from './write-attachment.ts';

export function performers(context: AttachContext): Performers<AttachLoop> {
  return {
    findVolume,
    addVolumeFinalizer: (step) => addVolumeFinalizer(context, step),
    readSecrets,
    mark: async (step) => {
      const written = await mark(context, step);
      return { marked: written === 'changed' || isFailed(written) ? written : { value: step.action.nodeId } };
    },
    publish: (step) => publish(context, step),
    saveAttached: async (step) => ({ attachedSaved: await saveAttached(context, step) }),
    unpublish: (step) => unpublish(context, step),
    unpublishOrphan: (step) => unpublishOrphan(context, step),
    forgetPublication: ({ key }) => {
      context.memory.publications.delete(key);
      return {};
    },
    release: async (step) => ({ released: await release(context, step) }),
    saveDetached: async (step) => ({ detachedSaved: await saveDetached(context, step) }),
    report: async (step) => {
      await report(context, step);
      return { isReported: true };
    },
  };
}

async function findVolume({
  client,
  action,
  signal,
}: Step<AttachLoop, 'findVolume'>): Promise<Pick<AttachState, 'volume'>> {
  return { volume: await ask(() => findObject({ client, signal }, persistentVolumes, { name: action.name })) };
}

/** Attachments of one volume to several nodes at once share one request. */
async function addVolumeFinalizer(
  { finalizer, memory: { volumeFinalizers } }: AttachContext,
  { client, caches, action: { volume }, signal }: Step<AttachLoop, 'addVolumeFinalizer'>,
): Promise<Partial<AttachState>> {
  const name = volume.metadata?.name ?? '';
  const add = async () => {
    const target = { resource: persistentVolumes, object: volume, finalizer };
    try {
      return await addFinalizer({ client, informer: caches.volumes }, target, signal);
    } finally {
      volumeFinalizers.delete(name);
    }
  };
  const underWay = volumeFinalizers.get(name) ?? add();
  volumeFinalizers.set(name, underWay);
  const added = await ask(() => underWay);
  return 'failure' in added ? { volumeFinalizer: added } : { volumeFinalizer: 'done', volume: added };
}

async function readSecrets({
  client,
  action: { reference },
  signal,
}: Step<AttachLoop, 'readSecrets'>): Promise<Pick<Learned, 'secrets'>> {
  const read = await ask(() => readSecret(client, reference, { signal }));
  return { secrets: 'failure' in read ? { failure: messages.noSecret(reference, read.failure) } : read };
}
