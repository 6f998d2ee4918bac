// SPDX-License-Identifier: Apache-2.0
/**
 * Writes to VolumeAttachments. Only patches, which is all that the stock roles allow.
 *
 * All of them carry the UID: none must end up on another object of the same name. Our finalizer is named by value. Status fields
 * that are to be empty are named, whatever the cache says about them.
 */
import {
  addedFinalizer,
  type ApiClient,
  type Clock,
  type Informer,
  isNotFound,
  type Logger,
  type Patch,
  removedFinalizer,
  timestamp,
  toError,
  type VolumeAttachment,
  volumeAttachments,
  type WriteOptions,
} from '@csi-sidecars/runtime';
import { annotations } from '../names.ts';
import { finalizersOf } from '../attachment-facts.ts';
import type { AttachMemory } from './memory.ts';
import { toStatusMessage } from './messages.ts';
import { type Action, type Attempt, nameOf } from './state.ts';

export interface WriteDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly attachments: Informer<VolumeAttachment>;
  readonly memory: AttachMemory;
  readonly finalizer: string;
  /** Failed attachments tell the gRPC code. */
  readonly errorCodes: boolean;
}

export async function mark(
  deps: WriteDeps,
  { attachment, nodeId }: Extract<Action, { kind: 'mark' }>,
  signal: AbortSignal,
): Promise<Attempt> {
  const { metadata } = attachment;
  const hasNodeId = metadata?.annotations?.[annotations.nodeId] === nodeId;
  const hasFinalizer = finalizersOf(attachment).includes(deps.finalizer);
  const body = {
    metadata: {
      ...(hasFinalizer ? { uid: metadata?.uid } : addedFinalizer(attachment, deps.finalizer)),
      ...(hasNodeId ? {} : { annotations: { [annotations.nodeId]: nodeId } }),
    },
  };
  return write(deps, attachment, { patch: { type: 'strategic', body }, options: { signal } });
}

export async function saveAttached(
  deps: WriteDeps,
  { attachment, context }: Extract<Action, { kind: 'saveAttached' }>,
  signal: AbortSignal,
): Promise<Attempt> {
  const vanished = Object.keys(attachment.status?.attachmentMetadata ?? {}).filter(
    (key) => !Object.hasOwn(context, key),
  );
  const isEmpty = Object.keys(context).length === 0;
  return writeStatus(deps, attachment, {
    signal,
    status: {
      attached: true,
      attachmentMetadata: isEmpty ? null : { ...context, ...Object.fromEntries(vanished.map((key) => [key, null])) },
      attachError: null,
    },
  });
}

export async function release(deps: WriteDeps, attachment: VolumeAttachment, signal: AbortSignal): Promise<Attempt> {
  const body = { metadata: removedFinalizer(attachment, deps.finalizer) };
  return write(deps, attachment, { patch: { type: 'strategic', body }, options: { signal } });
}

export async function saveDetached(
  deps: WriteDeps,
  attachment: VolumeAttachment,
  signal: AbortSignal,
): Promise<Attempt> {
  return writeStatus(deps, attachment, {
    signal,
    status: { attached: false, attachmentMetadata: null, detachError: null },
  });
}

/** A failure to report never hides what was to be reported. */
export async function report(
  deps: WriteDeps,
  { attachment, error }: Extract<Action, { kind: 'report' }>,
  signal: AbortSignal,
): Promise<void> {
  const told = { message: toStatusMessage(error.message), time: timestamp(deps.clock.nowMs()) };
  const code = deps.errorCodes && 'code' in error ? error.code : undefined;
  const reported = await writeStatus(deps, attachment, {
    signal,
    status: {
      // A code that an earlier failure left there goes, even if the cache does not show it.
      [error.field]: error.field === 'attachError' ? { ...told, errorCode: code ?? null } : told,
    },
  });
  if (typeof reported === 'object') {
    deps.logger.info(2, 'Failed to save an error to a VolumeAttachment', {
      VolumeAttachment: nameOf(attachment),
      reason: reported.failure,
    });
  }
}

interface StatusPatch {
  readonly status: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

async function writeStatus(
  deps: WriteDeps,
  attachment: VolumeAttachment,
  { status, signal }: StatusPatch,
): Promise<Attempt> {
  const body = { metadata: { uid: attachment.metadata?.uid }, status };
  return write(deps, attachment, { patch: { type: 'merge', body }, options: { signal, subresource: 'status' } });
}

/** That the object is gone is no failure: what was to be written needs no place any more. The cache is told, which may not know. */
async function write(
  { client, attachments, memory, finalizer, clock }: WriteDeps,
  attachment: VolumeAttachment,
  { patch, options }: { readonly patch: Patch; readonly options: WriteOptions },
): Promise<Attempt> {
  const name = nameOf(attachment);
  try {
    const patched = await client.patch({ resource: volumeAttachments, ref: { name } }, patch, options);
    attachments.remember(patched);
    // From now on the object itself says that there is something to take off its node.
    if (finalizersOf(patched).includes(finalizer)) memory.publications.delete(name);
    return 'done';
  } catch (error) {
    if (!isNotFound(error)) return { failure: toError(error).message };
    const deletionTimestamp = attachment.metadata?.deletionTimestamp ?? timestamp(clock.nowMs());
    attachments.remember({ ...attachment, metadata: { ...attachment.metadata, deletionTimestamp, finalizers: [] } });
    return 'done';
  }
}
