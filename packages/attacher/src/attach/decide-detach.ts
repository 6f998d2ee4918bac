// SPDX-License-Identifier: Apache-2.0
/** Rows D1 to D10, for a VolumeAttachment that is being deleted. Pure; the first matching row wins. */
import { done, isFailed, retry, type VolumeAttachment } from '@csi-sidecars/runtime';
import { finalizersOf, isAttached } from '../attachment.ts';
import { volumeNotFound, volumeSourceOf } from '../volume-source.ts';
import { busy, conclude } from './conclude.ts';
import * as messages from './messages.ts';
import { toTarget } from './plan.ts';
import type { Action, AttachState } from './state.ts';

interface DetachContext {
  readonly finalizer: string;
}

export function decideDetach(s: AttachState, attachment: VolumeAttachment, { finalizer }: DetachContext): Action {
  if (s.unpublished === 'done') return afterUnpublish(s, attachment, finalizer);
  if (isFailed(s.unpublished)) return fail('D8', s, { attachment, message: s.unpublished.failure.message });
  const isHeld = finalizersOf(attachment).includes(finalizer);
  if (!isHeld && !s.isForced && s.publication === undefined) return conclude('D1', done);
  const source = volumeSourceOf(attachment);
  if (source.kind === 'error') return fail('D2', s, { attachment, message: source.message });
  if (source.value.kind === 'persistentVolume') {
    const { name } = source.value;
    if (s.volume === 'unasked') return { row: 'D3', kind: 'findVolume', name };
    if (isFailed(s.volume)) return fail('D3', s, { attachment, message: s.volume.failure.message });
    if (s.volume.value === undefined) return fail('D4', s, { attachment, message: volumeNotFound(name) });
  }
  return decideUnpublish(s, attachment);
}

function decideUnpublish(s: AttachState, attachment: VolumeAttachment): Action {
  const target = toTarget(attachment, s.volume);
  if (target.kind === 'error') return fail('D5', s, { attachment, message: target.message });
  const { csi, reference, migrated } = target.value;
  if (isFailed(s.secrets)) return fail('D6', s, { attachment, message: s.secrets.failure.message });
  if (reference !== undefined && s.secrets === 'unasked') return { row: 'D6', kind: 'readSecrets', reference };
  if (s.knownNodeId.kind === 'error') return fail('D7', s, { attachment, message: s.knownNodeId.message });
  if (s.isBusy) return conclude('D8', busy);
  const secrets = s.secrets === 'unasked' ? undefined : s.secrets.value;
  const call = { volumeId: csi.volumeHandle, nodeId: s.knownNodeId.value, secrets, migrated };
  return { row: 'D8', kind: 'unpublish', call };
}

/**
 * Removes the finalizer before it writes the status. In the opposite order an event would show our finalizer without `attached`, which
 * means that the volume may be on the node, and the volume would be unpublished a second time.
 */
function afterUnpublish(s: AttachState, attachment: VolumeAttachment, finalizer: string): Action {
  if (isFailed(s.released)) return fail('D9', s, { attachment, message: messages.notDetached(s.released.failure) });
  if (finalizersOf(attachment).includes(finalizer)) return { row: 'D9', kind: 'release', attachment };
  if (isFailed(s.detachedSaved)) {
    return fail('D10', s, { attachment, message: messages.notDetached(s.detachedSaved.failure) });
  }
  if (s.detachedSaved === 'done') return conclude('D10', done);
  const { attachmentMetadata, detachError } = attachment.status ?? {};
  const isSaved = !isAttached(attachment) && attachmentMetadata === undefined && detachError === undefined;
  return isSaved ? conclude('D10', done) : { row: 'D10', kind: 'saveDetached', attachment };
}

function fail(
  row: string,
  { isReported }: AttachState,
  { attachment, message }: { readonly attachment: VolumeAttachment; readonly message: string },
): Action {
  if (isReported) return conclude(row, retry(new Error(message)));
  return { row, kind: 'report', attachment, error: { field: 'detachError', message } };
}
