// SPDX-License-Identifier: Apache-2.0
/**
 * Writes to VolumeAttachments. All of them are patches, because the stock roles allow no other write.
 *
 * Every patch carries the UID, so that it cannot change another object of the same name. Our finalizer is named by value. A status
 * field that must be empty is named, whatever the cache shows.
 */
import {
  addedFinalizer,
  attempt,
  isConflict,
  isFailed,
  type Attempt,
  findObject,
  type LoopPorts,
  type Patch,
  removedFinalizer,
  type Step,
  timestamp,
  type VolumeAttachment,
  volumeAttachments,
  writeObject,
  type WriteOptions,
} from '@csi-sidecars/runtime';
import { attachmentKey, finalizersOf } from '../attachment.ts';
import { ignoreGone } from '../ignore-gone.ts';
import { annotations } from '../names.ts';
import { toStatusMessage } from './messages.ts';
import type { AttachContext, AttachLoop } from './state.ts';

type Writing = Pick<LoopPorts, 'client' | 'clock'> & Pick<Step<AttachLoop>, 'caches' | 'signal'>;

/**
 * Guarded by the resource version: another process may have published the volume under a newer node id. `changed`: the attachment was
 * read again. A 409 for an attachment that has not changed is a failure like any other: an admission webhook may answer so each time.
 */
export async function mark(context: AttachContext, step: Step<AttachLoop, 'mark'>): Promise<Attempt | 'changed'> {
  const { attachment, nodeId } = step.action;
  const { metadata } = attachment;
  const hasNodeId = metadata?.annotations?.[annotations.nodeId] === nodeId;
  const hasFinalizer = finalizersOf(attachment).includes(context.finalizer);
  const body = {
    metadata: {
      resourceVersion: metadata?.resourceVersion,
      ...(hasFinalizer ? { uid: metadata?.uid } : addedFinalizer(attachment, context.finalizer)),
      ...(hasNodeId ? {} : { annotations: { [annotations.nodeId]: nodeId } }),
    },
  };
  const written = await write(context, step, { attachment, patch: { type: 'strategic', body } });
  if (!isFailed(written) || !isConflict(written.failure)) return written;
  const isRead = (await confirm(context, step)) === 'done';
  const { caches, key } = step;
  const hasChanged = caches.attachments.get(key)?.metadata?.resourceVersion !== metadata?.resourceVersion;
  return isRead && hasChanged ? 'changed' : written;
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
  return write(context, step, { attachment, patch: { type: 'strategic', body } });
}

export function saveDetached(context: AttachContext, step: Step<AttachLoop, 'saveDetached'>): Promise<Attempt> {
  const status = { attached: false, attachmentMetadata: null, detachError: null };
  return writeStatus(context, step, { attachment: step.action.attachment, status });
}

/** Reads the attachment. If another one has its name, that one is left to the next run. */
export async function confirm(
  { memory }: AttachContext,
  { client, caches, key, signal }: Pick<Step<AttachLoop>, 'client' | 'caches' | 'key' | 'signal'>,
): Promise<Attempt> {
  return attempt(async () => {
    const found = await findObject({ client, signal }, volumeAttachments, { name: key });
    if (found === undefined) return;
    caches.attachments.remember(found);
    memory.confirmed.set(key, found.metadata?.uid);
  });
}

/** If the error cannot be written, that is only logged: the original error still decides the retry. */
export async function report(context: AttachContext, step: Step<AttachLoop, 'report'>): Promise<void> {
  const { clock, logger, key, action } = step;
  const { attachment, error } = action;
  const reported = { message: toStatusMessage(error.message), time: timestamp(clock.nowMs()) };
  const code = context.settings.features.errorCodes && 'code' in error ? error.code : undefined;
  // null removes the code of an earlier failure, even if the cache does not show it.
  const value = error.field === 'attachError' ? { ...reported, errorCode: code ?? null } : reported;
  const written = await writeStatus(context, step, { attachment, status: { [error.field]: value } });
  if (typeof written === 'object') {
    const facts = { VolumeAttachment: key, reason: written.failure.message };
    logger.info(2, 'Failed to save an error to a VolumeAttachment', facts);
  }
}

function writeStatus(
  context: AttachContext,
  step: Writing,
  { attachment, status }: { readonly attachment: VolumeAttachment; readonly status: Readonly<Record<string, unknown>> },
): Promise<Attempt> {
  const body = { metadata: { uid: attachment.metadata?.uid }, status };
  return write(context, step, { attachment, patch: { type: 'merge', body }, options: { subresource: 'status' } });
}

interface AttachmentPatch {
  readonly attachment: VolumeAttachment;
  readonly patch: Patch;
  readonly options?: WriteOptions;
}

/** An object that is gone is not an error: there is nothing left to update. The cache may still show it, and is made to drop it. */
function write(
  { memory, finalizer }: AttachContext,
  { client, clock, caches, signal }: Writing,
  { attachment, patch, options }: AttachmentPatch,
): Promise<Attempt> {
  const key = attachmentKey(attachment);
  const target = { resource: volumeAttachments, ref: { name: key } };
  return attempt(async () => {
    const patched = await writeObject(caches.attachments, attachment, () =>
      client.patch(target, patch, { ...options, signal }),
    ).catch((refusal: unknown) =>
      ignoreGone({ client, signal }, { resource: volumeAttachments, object: attachment, refusal }),
    );
    if (patched === undefined) caches.attachments.remember(ended(attachment, clock.nowMs()));
    if (patched !== undefined) memory.confirmed.set(key, patched.metadata?.uid);
    // Our finalizer on the object records from now on that the volume may be on the node.
    if (patched !== undefined && finalizersOf(patched).includes(finalizer)) memory.publications.delete(key);
  });
}

/** The attachment as the cache expects one that no longer exists. */
function ended(attachment: VolumeAttachment, nowMs: number): VolumeAttachment {
  const metadata = { ...attachment.metadata, deletionTimestamp: timestamp(nowMs), finalizers: [] };
  return { ...attachment, metadata };
}
