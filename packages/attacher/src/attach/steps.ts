// SPDX-License-Identifier: Apache-2.0
/**
 * What each step of an attachment does. No decisions: those are in `flow.ts`.
 *
 * The calls to the driver: one at a time for each volume and node. Attachments of the same volume to the same node have the same name, and
 * therefore the same key, unless users create them by hand.
 *
 * The writes to VolumeAttachments: all of them are patches, because the stock roles allow no other write. Every patch carries the UID, so
 * that it cannot change another object of the same name. Our finalizer is named by value. A status field that must be empty is named,
 * whatever the cache shows.
 */
import {
  addedFinalizer,
  addFinalizer,
  changeObject,
  type ChangeObjectDeps,
  changeObjectOnce,
  findObject,
  gettingByList,
  type ObjectChange,
  type PersistentVolume,
  persistentVolumes,
  readSecret,
  removedFinalizer,
  timestamp,
  toError,
  type VolumeAttachment,
  volumeAttachments,
  writeObject,
} from '@csi-sidecars/runtime';
import { type SecretReference } from '@csi-sidecars/volume';
import { attachmentKey, finalizersOf, isAttached } from '../attachment.ts';
import { ignoreGone } from '../ignore-gone.ts';
import { annotations } from '../names.ts';

import type { AttachRun } from './look.ts';
import type { AttachMemory, Publication, Secrets, UnpublishCall } from './memory.ts';
import * as messages from './messages.ts';
import type { Plan } from './plan.ts';

/** What the driver returns from a publish for the node side. */
export type PublishContext = Readonly<Record<string, string>>;

export function findVolume({ client, signal }: AttachRun, name: string): Promise<PersistentVolume | undefined> {
  return findObject({ client, signal }, persistentVolumes, { name });
}

/** Attachments of one volume to several nodes at once share one request. */
export function addVolumeFinalizer(run: AttachRun, volume: PersistentVolume): Promise<PersistentVolume> {
  const { caches, signal, context } = run;
  const { finalizer, memory } = context;
  const name = volume.metadata?.name ?? '';
  const add = async () => {
    try {
      const target = { resource: persistentVolumes, object: volume, finalizer };
      return await addFinalizer({ ...run, cache: caches.volumes }, target, signal);
    } finally {
      memory.volumeFinalizers.delete(name);
    }
  };
  const underWay = memory.volumeFinalizers.get(name) ?? add();
  memory.volumeFinalizers.set(name, underWay);
  return underWay;
}

export function readSecrets({ client, signal }: AttachRun, reference: SecretReference): Promise<Secrets> {
  return readSecret(client, reference, { signal }).catch((cause: unknown) => {
    throw messages.noSecret(reference, toError(cause));
  });
}

/** Guarded by the resource version: another process may have published the volume under a newer node id. */
export async function mark(run: AttachRun, attachment: VolumeAttachment, nodeId: string): Promise<'done' | 'changed'> {
  const { finalizer } = run.context;
  const hasNodeId = attachment.metadata?.annotations?.[annotations.nodeId] === nodeId;
  const metadata = {
    ...(!finalizersOf(attachment).includes(finalizer) && addedFinalizer(attachment, finalizer)),
    ...(!hasNodeId && { annotations: { [annotations.nodeId]: nodeId } }),
  };
  const change = { ...changeOf(attachment), type: 'strategic', patch: () => ({ metadata }) } as const;
  let result: 'done' | 'changed' = 'done';
  await write(run, attachment, async () => {
    const { written, object } = await changeObjectOnce(changing(run), change, { signal: run.signal });
    result = written;
    return object;
  });
  return result;
}

export interface PublishCall {
  readonly request: Plan['request'] & { readonly node_id: string };
  readonly migrated: boolean;
}

/** `busy`: another call for the same volume and node is in flight. */
export async function publish(
  { key, signal, span, context }: AttachRun,
  { metadata, spec }: VolumeAttachment,
  { request, migrated }: PublishCall,
): Promise<PublishContext | 'busy'> {
  const { channel, memory, runs, settings } = context;
  const undo = { volumeId: request.volume_id, nodeId: request.node_id, secrets: request.secrets, migrated };
  runs.noteCall(key);
  using call = beginCall(memory, undo);
  if (call === undefined) return 'busy';
  // Recorded before the call, because from here on the volume may be on the node.
  memory.publications.set(key, {
    uid: metadata?.uid,
    attachment: key,
    nodeName: spec.nodeName,
    volumeName: spec.source.persistentVolumeName,
    undo,
  });
  const options = { timeoutMs: settings.timeoutMs, signal, migrated, span };
  const answer = await channel.call('/csi.v1.Controller/ControllerPublishVolume', request, options);
  return answer.publish_context;
}

export async function unpublish(run: AttachRun, call: UnpublishCall): Promise<'done' | 'busy'> {
  const unpublished = await callUnpublish(run, call);
  if (unpublished === 'done') {
    run.context.memory.publications.delete(run.key);
    run.context.runs.noteUnpublished(run.key);
  }
  return unpublished;
}

export async function unpublishOrphan(run: AttachRun, publication: Publication): Promise<'done' | 'busy'> {
  const unpublished = await callUnpublish(run, publication.undo);
  if (unpublished === 'done') run.context.memory.publications.delete(publication.attachment);
  return unpublished;
}

export function forgetPublication({ key, context }: AttachRun): void {
  context.memory.publications.delete(key);
}

async function callUnpublish(
  { key, signal, span, context }: AttachRun,
  target: UnpublishCall,
): Promise<'done' | 'busy'> {
  const { channel, memory, runs, settings } = context;
  const { volumeId, nodeId, secrets, migrated } = target;
  runs.noteCall(key);
  using call = beginCall(memory, target);
  if (call === undefined) return 'busy';
  const request = { volume_id: volumeId, node_id: nodeId, secrets };
  const options = { timeoutMs: settings.timeoutMs, signal, migrated, span };
  await channel.call('/csi.v1.Controller/ControllerUnpublishVolume', request, options);
  return 'done';
}

/** Returns undefined while another call for the same volume and node is in flight. */
function beginCall({ calls }: AttachMemory, { volumeId, nodeId }: UnpublishCall): Disposable | undefined {
  const target = JSON.stringify([volumeId, nodeId]);
  if (calls.has(target)) return undefined;
  calls.add(target);
  return { [Symbol.dispose]: () => void calls.delete(target) };
}

export function saveAttached(run: AttachRun, attachment: VolumeAttachment, published: PublishContext): Promise<void> {
  const keys = Object.keys(attachment.status?.attachmentMetadata ?? {});
  const removed = keys.filter((key) => !Object.hasOwn(published, key)).map((key) => [key, null]);
  const isEmpty = Object.keys(published).length === 0;
  const attachmentMetadata = isEmpty ? null : { ...published, ...Object.fromEntries(removed) };
  return writeStatus(run, attachment, { attached: true, attachmentMetadata, attachError: null });
}

/** Removes our finalizer. */
export function release(run: AttachRun, attachment: VolumeAttachment): Promise<void> {
  const body = { metadata: removedFinalizer(attachment, run.context.finalizer) };
  return write(run, attachment, () =>
    run.client.patch(targetOf(attachment), { type: 'strategic', body }, { signal: run.signal }),
  );
}

export function saveDetached(run: AttachRun, attachment: VolumeAttachment): Promise<void> {
  return writeStatus(run, attachment, { attached: false, attachmentMetadata: null, detachError: null });
}

export type ReportedError =
  /** `code` is the gRPC code of the failure; undefined if it has none. */
  | { readonly field: 'attachError'; readonly message: string; readonly code: number | undefined }
  | { readonly field: 'detachError'; readonly message: string; readonly code?: undefined };

/**
 * Written to what the attachment is now: not if another process, or a write of this one that got no answer, has attached or detached the
 * volume. If the error cannot be written, that is only logged: the original error still decides the retry.
 */
export async function report(run: AttachRun, attachment: VolumeAttachment, error: ReportedError): Promise<void> {
  const { clock, logger, key, context } = run;
  const { finalizer, memory, runs, settings } = context;
  const reported = { message: messages.toStatusMessage(error.message), time: timestamp(clock.nowMs()) };
  const code = settings.features.errorCodes ? error.code : undefined;
  // null removes the code of an earlier failure, even if the cache does not show it.
  const value = error.field === 'attachError' ? { ...reported, errorCode: code ?? null } : reported;
  const isOver = (known: VolumeAttachment): boolean => {
    if (runs.isForced(known)) return false;
    if (error.field === 'attachError') return isAttached(known);
    return !memory.publications.has(key) && !isAttached(known) && !finalizersOf(known).includes(finalizer);
  };
  const newest = run.caches.attachments.get(key);
  const change: ObjectChange<VolumeAttachment> = {
    ...changeOf(newest?.metadata?.uid === attachment.metadata?.uid ? (newest ?? attachment) : attachment),
    subresource: 'status',
    patch: (known) => (isOver(known) ? undefined : { status: { [error.field]: value } }),
  };
  try {
    await write(run, attachment, () => changeObject(changing(run), change, { signal: run.signal }));
  } catch (error) {
    const facts = { VolumeAttachment: key, reason: toError(error).message };
    logger.info(2, 'Failed to save an error to a VolumeAttachment', facts);
  }
}

function changing({ client, clock, random, caches }: AttachRun): ChangeObjectDeps<VolumeAttachment> {
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
  run: AttachRun,
  attachment: VolumeAttachment,
  status: Readonly<Record<string, unknown>>,
): Promise<void> {
  const body = { metadata: { uid: attachment.metadata?.uid }, status };
  const options = { subresource: 'status', signal: run.signal } as const;
  return write(run, attachment, () => run.client.patch(targetOf(attachment), { type: 'merge', body }, options));
}

/** An object that is gone is not an error: there is nothing left to update. The cache may still show it, and is made to drop it. */
async function write(
  { client, caches, signal, context: { memory, finalizer } }: AttachRun,
  attachment: VolumeAttachment,
  send: () => Promise<VolumeAttachment>,
): Promise<void> {
  const stored = await writeObject(caches.attachments, attachment, () =>
    send().catch((refusal: unknown) =>
      ignoreGone({ client, signal }, { resource: volumeAttachments, object: attachment, refusal }),
    ),
  );
  // Our finalizer on the object records from now on that the volume may be on the node.
  const isIt = stored !== undefined && stored.metadata?.uid === attachment.metadata?.uid;
  if (isIt && finalizersOf(stored).includes(finalizer)) memory.publications.delete(attachmentKey(attachment));
}
