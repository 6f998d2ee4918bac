// SPDX-License-Identifier: Apache-2.0
/**
 * Writes to VolumeAttachments. All of them are patches, because the stock roles allow no other write.
 *
 * Every patch carries the UID, so that it cannot change another object of the same name. Our finalizer is named by value. A status
 * field that must be empty is named, whatever the cache shows.
 */
import {
  addedFinalizer,
  type Attempt,
  attempt,
  changeObject,
  type ChangeObjectDeps,
  changeObjectOnce,
  gettingByList,
  isFailed,
  type LoopPorts,
  type ObjectChange,
  removedFinalizer,
  type Step,
  timestamp,
  type VolumeAttachment,
  volumeAttachments,
  writeObject,
} from '@csi-sidecars/runtime';
import { attachmentKey, finalizersOf, isAttached } from '../attachment.ts';
import { ignoreGone } from '../ignore-gone.ts';
import { annotations } from '../names.ts';
import { toStatusMessage } from './messages.ts';
import type { AttachContext, AttachLoop } from './state.ts';

type Writing = LoopPorts & Pick<Step<AttachLoop>, 'caches' | 'signal'>;

/** Guarded by the resource version: another process may have published the volume under a newer node id. */
export async function mark(context: AttachContext, step: Step<AttachLoop, 'mark'>): Promise<Attempt | 'changed'> {
  const { attachment, nodeId } = step.action;
  const hasNodeId = attachment.metadata?.annotations?.[annotations.nodeId] === nodeId;
  const hasFinalizer = finalizersOf(attachment).includes(context.finalizer);
  const metadata = {
    ...(hasFinalizer ? {} : addedFinalizer(attachment, context.finalizer)),
    ...(hasNodeId ? {} : { annotations: { [annotations.nodeId]: nodeId } }),
  };
  let hasChanged = false;
  const change = { ...changeOf(attachment), type: 'strategic', patch: () => ({ metadata }) } as const;
  const written = await write(context, step, {
    attachment,
    send: async () => {
      const changed = await changeObjectOnce(changing(step), change, { signal: step.signal });
      hasChanged = changed.written === 'changed';
      return changed.object;
    },
  });
  return hasChanged ? 'changed' : written;
}

export function saveAttached(context: AttachContext, step: Step<AttachLoop, 'saveAttached'>): Promise<Attempt> {
  const { attachment, context: published } = step.action;
  const keys = Object.keys(attachment.status?.attachmentMetadata ?? {});
  const removed = keys.filter((key) => !Object.hasOwn(published, key)).map((key) => [key, null]);
  const isEmpty = Object.keys(published).length === 0;
  const attachmentMetadata = isEmpty ? null : { ...published, ...Object.fromEntries(removed) };
  return writeStatus(context, step, { attachment, status: { attached: true, attachmentMetadata, attachError: null } });
}

export function release(context: AttachContext, step: Step<AttachLoop, 'release'>): Promise<Attempt> {
  const { attachment } = step.action;
  const body = { metadata: removedFinalizer(attachment, context.finalizer) };
  return write(context, step, {
    attachment,
    send: () => step.client.patch(targetOf(attachment), { type: 'strategic', body }, { signal: step.signal }),
  });
}

export function saveDetached(context: AttachContext, step: Step<AttachLoop, 'saveDetached'>): Promise<Attempt> {
  const status = { attached: false, attachmentMetadata: null, detachError: null };
  return writeStatus(context, step, { attachment: step.action.attachment, status });
}

/**
 * Written to what the attachment is now: not if another process, or a write of this one that got no answer, has attached or detached the
 * volume. If the error cannot be written, that is only logged: the original error still decides the retry.
 */
export async function report(context: AttachContext, step: Step<AttachLoop, 'report'>): Promise<void> {
  const { clock, logger, key, action, state } = step;
  const { attachment, error } = action;
  const reported = { message: toStatusMessage(error.message), time: timestamp(clock.nowMs()) };
  const code = context.settings.features.errorCodes && 'code' in error ? error.code : undefined;
  // null removes the code of an earlier failure, even if the cache does not show it.
  const value = error.field === 'attachError' ? { ...reported, errorCode: code ?? null } : reported;
  const isOver = (known: VolumeAttachment): boolean => {
    if (context.runs.isForced(known)) return false;
    if (error.field === 'attachError') return isAttached(known);
    return state.publication === undefined && !isAttached(known) && !finalizersOf(known).includes(context.finalizer);
  };
  const change: ObjectChange<VolumeAttachment> = {
    ...changeOf(attachment),
    subresource: 'status',
    patch: (known) => (isOver(known) ? undefined : { status: { [error.field]: value } }),
  };
  const written = await write(context, step, {
    attachment,
    send: () => changeObject(changing(step), change, { signal: step.signal }),
  });
  if (isFailed(written)) {
    const facts = { VolumeAttachment: key, reason: written.failure.message };
    logger.info(2, 'Failed to save an error to a VolumeAttachment', facts);
  }
}

function changing({ client, clock, random, caches }: Writing): ChangeObjectDeps<VolumeAttachment> {
  const patching = { patch: client.patch.bind(client), ...gettingByList(client) };
  return { client: patching, clock, random, cache: caches.attachments };
}

const changeOf = (object: VolumeAttachment): Pick<ObjectChange<VolumeAttachment>, 'resource' | 'object'> => ({
  resource: volumeAttachments,
  object,
});

const targetOf = (attachment: VolumeAttachment) => ({
  resource: volumeAttachments,
  ref: { name: attachmentKey(attachment) },
});

function writeStatus(
  context: AttachContext,
  step: Writing,
  { attachment, status }: { readonly attachment: VolumeAttachment; readonly status: Readonly<Record<string, unknown>> },
): Promise<Attempt> {
  const body = { metadata: { uid: attachment.metadata?.uid }, status };
  return write(context, step, {
    attachment,
    send: () =>
      step.client.patch(targetOf(attachment), { type: 'merge', body }, { subresource: 'status', signal: step.signal }),
  });
}

interface AttachmentWrite {
  readonly attachment: VolumeAttachment;
  readonly send: () => Promise<VolumeAttachment>;
}

/** An object that is gone is not an error: there is nothing left to update. The cache may still show it, and is made to drop it. */
function write(
  { memory, finalizer }: AttachContext,
  { client, caches, signal }: Writing,
  { attachment, send }: AttachmentWrite,
): Promise<Attempt> {
  const key = attachmentKey(attachment);
  return attempt(async () => {
    const stored = await writeObject(caches.attachments, attachment, () =>
      send().catch((refusal: unknown) =>
        ignoreGone({ client, signal }, { resource: volumeAttachments, object: attachment, refusal }),
      ),
    );
    if (stored === undefined) return;
    // Our finalizer on the object records from now on that the volume may be on the node.
    const isIt = stored.metadata?.uid === attachment.metadata?.uid;
    if (isIt && finalizersOf(stored).includes(finalizer)) memory.publications.delete(key);
  });
}
