// SPDX-License-Identifier: Apache-2.0
/**
 * The calls of the attach loop to the driver: one at a time for each volume and node. Attachments of the same volume to the same node
 * have the same name, and therefore the same key, unless users create them by hand.
 */
import { ask, attempt, type Failed, type Step } from '@csi-sidecars/runtime';
import { attachmentKey } from '../attachment.ts';
import type { AttachMemory } from './memory.ts';
import type { UnpublishCall } from './memory.ts';
import type { AttachContext, AttachLoop, Learned } from './state.ts';

export async function publish(
  { channel, memory, runs, settings: { timeoutMs } }: AttachContext,
  { action: { attachment, request, migrated }, signal }: Step<AttachLoop, 'publish'>,
): Promise<Partial<Learned>> {
  const undo = { volumeId: request.volume_id ?? '', nodeId: request.node_id ?? '', secrets: request.secrets, migrated };
  const key = attachmentKey(attachment);
  runs.noteCall(key);
  using call = beginCall(memory, undo);
  if (call === undefined) return { isBusy: true };
  // Recorded before the call, because from here on the volume may be on the node.
  memory.publications.set(key, {
    uid: attachment.metadata?.uid,
    attachment: key,
    nodeName: attachment.spec.nodeName,
    volumeName: attachment.spec.source.persistentVolumeName,
    undo,
  });
  const options = { timeoutMs, signal, migrated };
  const answer = await ask(() => channel.call('/csi.v1.Controller/ControllerPublishVolume', request, options));
  return { published: 'failure' in answer ? answer : { value: answer.value.publish_context } };
}

export async function unpublish(
  context: AttachContext,
  { key, action: { call }, signal }: Step<AttachLoop, 'unpublish'>,
): Promise<Partial<Learned>> {
  context.runs.noteCall(key);
  const unpublished = await callUnpublish(context, call, signal);
  if (unpublished === 'busy') return { isBusy: true };
  if (unpublished === 'done') {
    context.memory.publications.delete(key);
    context.runs.noteUnpublished(key);
  }
  return { unpublished };
}

export async function unpublishOrphan(
  context: AttachContext,
  { key, action: { publication }, signal }: Step<AttachLoop, 'unpublishOrphan'>,
): Promise<Partial<Learned>> {
  context.runs.noteCall(key);
  const orphanUnpublished = await callUnpublish(context, publication.undo, signal);
  if (orphanUnpublished === 'busy') return { isBusy: true };
  if (orphanUnpublished === 'done') context.memory.publications.delete(publication.attachment);
  return { orphanUnpublished };
}

async function callUnpublish(
  { channel, memory, settings: { timeoutMs } }: AttachContext,
  target: UnpublishCall,
  signal: AbortSignal,
): Promise<'done' | 'busy' | Failed> {
  const { volumeId, nodeId, secrets, migrated } = target;
  using call = beginCall(memory, target);
  if (call === undefined) return 'busy';
  const request = { volume_id: volumeId, node_id: nodeId, ...(secrets === undefined ? {} : { secrets }) };
  const options = { timeoutMs, signal, migrated };
  return attempt(() => channel.call('/csi.v1.Controller/ControllerUnpublishVolume', request, options));
}

/** Returns undefined while another call for the same volume and node is in flight. */
function beginCall({ calls }: AttachMemory, { volumeId, nodeId }: UnpublishCall): Disposable | undefined {
  const target = JSON.stringify([volumeId, nodeId]);
  if (calls.has(target)) return undefined;
  calls.add(target);
  return { [Symbol.dispose]: () => void calls.delete(target) };
}
