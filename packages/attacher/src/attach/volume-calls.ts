// SPDX-License-Identifier: Apache-2.0
/**
 * The calls to the driver that the attach loop makes, one at a time for each volume and node. Attachments of the same volume to
 * the same node have the same name and so the same key, unless users make them by hand.
 */
import { type CsiChannel, CsiError, numberOfCode } from '@csi-sidecars/csi';
import { toError } from '@csi-sidecars/runtime';
import type { AttachMemory } from './memory.ts';
import {
  type Action,
  type AttachmentName,
  type AttachState,
  nameOf,
  type Publication,
  type UnpublishCall,
} from './state.ts';

export interface CallDeps {
  readonly channel: CsiChannel;
  readonly memory: AttachMemory;
  readonly timeoutMs: number;
}

const busy = { isBusy: true } as const;

export async function publish(
  deps: CallDeps,
  { attachment, request, migrated }: Extract<Action, { kind: 'publish' }>,
  signal: AbortSignal,
): Promise<Partial<Pick<AttachState, 'published' | 'isBusy'>>> {
  const { channel, memory, timeoutMs } = deps;
  const undo = { volumeId: request.volume_id ?? '', nodeId: request.node_id ?? '', secrets: request.secrets, migrated };
  using place = occupy(memory, undo);
  if (place === undefined) return busy;
  // Before the call: from here on the volume may be on the node.
  memory.publications.set(nameOf(attachment), {
    uid: attachment.metadata?.uid,
    attachmentName: nameOf(attachment),
    nodeName: attachment.spec.nodeName,
    volumeName: attachment.spec.source.persistentVolumeName,
    undo,
  });
  try {
    const answer = await channel.call('/csi.v1.Controller/ControllerPublishVolume', request, {
      timeoutMs,
      signal,
      migrated,
    });
    return { published: { kind: 'done', context: answer.publish_context } };
  } catch (error) {
    const code = error instanceof CsiError ? numberOfCode(error.code) : undefined;
    return { published: { kind: 'failed', message: toError(error).message, code } };
  }
}

export async function unpublish(
  deps: CallDeps,
  { name, call }: { readonly name: AttachmentName; readonly call: UnpublishCall },
  signal: AbortSignal,
): Promise<Partial<Pick<AttachState, 'unpublished' | 'isBusy'>>> {
  const unpublished = await takeOff(deps, call, signal);
  if (unpublished === 'busy') return busy;
  if (unpublished === 'done') deps.memory.publications.delete(name);
  return { unpublished };
}

export async function takeBack(
  deps: CallDeps,
  { attachmentName, undo }: Publication,
  signal: AbortSignal,
): Promise<Partial<Pick<AttachState, 'takenBack' | 'isBusy'>>> {
  const takenBack = await takeOff(deps, undo, signal);
  if (takenBack === 'busy') return busy;
  if (takenBack === 'done') deps.memory.publications.delete(attachmentName);
  return { takenBack };
}

async function takeOff(
  { channel, memory, timeoutMs }: CallDeps,
  call: UnpublishCall,
  signal: AbortSignal,
): Promise<'done' | 'busy' | { readonly failure: string }> {
  const { volumeId, nodeId, secrets, migrated } = call;
  using place = occupy(memory, call);
  if (place === undefined) return 'busy';
  const request = { volume_id: volumeId, node_id: nodeId, ...(secrets === undefined ? {} : { secrets }) };
  try {
    await channel.call('/csi.v1.Controller/ControllerUnpublishVolume', request, { timeoutMs, signal, migrated });
    return 'done';
  } catch (error) {
    return { failure: toError(error).message };
  }
}

/** Undefined while another call is there. */
function occupy({ places }: AttachMemory, { volumeId, nodeId }: UnpublishCall): Disposable | undefined {
  const place = JSON.stringify([volumeId, nodeId]);
  if (places.has(place)) return undefined;
  places.add(place);
  return { [Symbol.dispose]: () => void places.delete(place) };
}
