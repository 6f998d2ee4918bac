// SPDX-License-Identifier: Apache-2.0
/** Rows D1 to D11: the VolumeAttachment is being deleted. Pure; first match wins. */
import { done, retry, type VolumeAttachment } from '@csi-sidecars/runtime';
import { volumeNotFound, volumeSourceOf } from '../volume-source.ts';
import { finalizersOf, isAttached } from '../attachment-facts.ts';
import { busy, conclude } from './conclude.ts';
import * as messages from './messages.ts';
import { toTarget } from './plan.ts';
import type { Action, AttachContext, AttachState } from './state.ts';

export function decideDetach(s: AttachState, attachment: VolumeAttachment, context: AttachContext): Action {
  if (s.unpublished === 'done') return afterUnpublish(s, attachment, context);
  const isHeld = finalizersOf(attachment).includes(context.finalizer);
  if (!isHeld && !s.isForced && s.publication === undefined) return conclude(done); // D1
  const source = volumeSourceOf(attachment);
  if (source.kind === 'error') return fail(s, attachment, source.message); // D2
  if (source.value.kind === 'persistentVolume') {
    const { name } = source.value;
    if (s.volume.kind === 'unread') return { kind: 'findVolume', name }; // D3
    if (s.volume.kind === 'failed') return fail(s, attachment, s.volume.message); // D3
    if (s.volume.kind === 'missing') return fail(s, attachment, volumeNotFound(name)); // D4
  }
  return towardsUnpublish(s, attachment);
}

function towardsUnpublish(s: AttachState, attachment: VolumeAttachment): Action {
  const target = toTarget(attachment, s.volume);
  if (target.kind === 'error') return fail(s, attachment, target.message); // D5
  const { csi, reference, migrated } = target.value;
  if (s.secrets.kind === 'failed') return fail(s, attachment, s.secrets.message); // D6
  if (reference !== undefined && s.secrets.kind === 'unread') return { kind: 'readSecrets', reference }; // D6
  if (s.knownNodeId.kind === 'error') return fail(s, attachment, s.knownNodeId.message); // D7
  if (s.isBusy) return conclude(busy); // D8
  if (typeof s.unpublished === 'object') return fail(s, attachment, s.unpublished.failure); // D8
  const secrets = s.secrets.kind === 'found' ? s.secrets.values : undefined;
  const call = { volumeId: csi.volumeHandle, nodeId: s.knownNodeId.value, secrets, migrated };
  return { kind: 'unpublish', call }; // D8
}

/**
 * The finalizer before the status: the other way round an event would show a finalizer without `attached`, which means that the
 * volume may be on the node, and it would be unpublished once more.
 */
function afterUnpublish(s: AttachState, attachment: VolumeAttachment, context: AttachContext): Action {
  if (typeof s.released === 'object') return fail(s, attachment, messages.notDetached(s.released.failure)); // D9
  if (finalizersOf(attachment).includes(context.finalizer)) return { kind: 'release', attachment }; // D9
  if (typeof s.cleared === 'object') return fail(s, attachment, messages.notDetached(s.cleared.failure)); // D10
  if (s.cleared === 'done') return conclude(done); // D10
  const { attachmentMetadata, detachError } = attachment.status ?? {};
  const saysDetached = !isAttached(attachment) && attachmentMetadata === undefined && detachError === undefined;
  return saysDetached ? conclude(done) : { kind: 'saveDetached', attachment }; // D10
}

function fail({ reported }: AttachState, attachment: VolumeAttachment, message: string): Action {
  if (reported === 'yes') return conclude(retry(new Error(message))); // D11
  return { kind: 'report', attachment, error: { field: 'detachError', message } }; // D11
}
