// SPDX-License-Identifier: Apache-2.0
/** Rows G1 to G4 and A1 to A14. Pure; the first matching row wins. The rows of detaching are in `decide-detach.ts`. */
import { CsiError, numberOfCode } from '@csi-sidecars/csi';
import { done, isFailed, retry, type VolumeAttachment } from '@csi-sidecars/runtime';
import { finalizersOf, isAttached, isDeleting } from '../attachment.ts';
import { annotations } from '../names.ts';
import { volumeNotFound, volumeSourceOf } from '../volume-source.ts';
import { atOnce, busy, conclude } from './conclude.ts';
import { decideDetach } from './decide-detach.ts';
import * as messages from './messages.ts';
import { type PlanContext, toPlan } from './plan.ts';
import type { Publication } from './memory.ts';
import type { Action, AttachState, PublishContext } from './state.ts';

export interface DecideContext extends PlanContext {
  readonly finalizer: string;
}

export function decide(s: AttachState, context: DecideContext): Action {
  const { attachment, publication } = s;
  if (publication !== undefined && publication.uid !== attachment?.metadata?.uid) return decideOrphan(s, publication);
  if (attachment === undefined) return conclude('G1', done);
  if (!isDeleting(attachment)) return decideAttach(s, attachment, context);
  if (!isFailed(s.published)) return decideDetach(s, attachment, context);
  // Deleted during its publish. The detach may take long, and users have to see why the volume was never attached.
  return s.isReported ? conclude('A13', atOnce) : fail('A13', s, { attachment, failure: s.published.failure });
}

/** The attachment disappeared during its publish, so only the publication records that the volume may be on the node. */
function decideOrphan(s: AttachState, publication: Publication): Action {
  if (s.isNeededByAnother) return { row: 'G2', kind: 'forgetPublication' };
  if (s.isBusy) return conclude('G3', busy);
  if (isFailed(s.orphanUnpublished)) return conclude('G4', retry(s.orphanUnpublished.failure));
  return { row: 'G4', kind: 'unpublishOrphan', publication };
}

function decideAttach(s: AttachState, attachment: VolumeAttachment, context: DecideContext): Action {
  if (s.attachedSaved === 'done') return conclude('A14', done);
  if (isFailed(s.attachedSaved)) return conclude('A14', retry(messages.notSaved(s.attachedSaved.failure)));
  if (isFailed(s.published)) return fail('A13', s, { attachment, failure: s.published.failure });
  if (s.published !== 'unasked') return save(attachment, s.published.value);
  if (isAttached(attachment) && !s.isForced) return conclude('A1', done);
  const source = volumeSourceOf(attachment);
  if (source.kind === 'error') return fail('A2', s, { attachment, failure: new Error(source.message) });
  const unready =
    source.value.kind === 'persistentVolume'
      ? decideVolume(s, { attachment, name: source.value.name, finalizer: context.finalizer })
      : undefined;
  return unready ?? decidePublish(s, attachment, context);
}

interface VolumeQuestion {
  readonly attachment: VolumeAttachment;
  readonly name: string;
  readonly finalizer: string;
}

/** Returns undefined if the PersistentVolume is ready to be published. */
function decideVolume(s: AttachState, { attachment, name, finalizer }: VolumeQuestion): Action | undefined {
  const { volume } = s;
  if (volume === 'unasked') return { row: 'A3', kind: 'findVolume', name };
  if (isFailed(volume)) return fail('A3', s, { attachment, failure: volume.failure });
  if (volume.value === undefined) return fail('A4', s, { attachment, failure: new Error(volumeNotFound(name)) });
  const { metadata } = volume.value;
  if (metadata?.deletionTimestamp !== undefined) {
    return fail('A5', s, { attachment, failure: new Error(messages.volumeDeleting(name)) });
  }
  if (isFailed(s.volumeFinalizer)) {
    return fail('A6', s, { attachment, failure: messages.noVolumeFinalizer(s.volumeFinalizer.failure) });
  }
  const hasFinalizer = metadata?.finalizers?.includes(finalizer) === true;
  if (hasFinalizer || s.volumeFinalizer === 'done') return undefined;
  return { row: 'A6', kind: 'addVolumeFinalizer', volume: volume.value };
}

function decidePublish(s: AttachState, attachment: VolumeAttachment, context: DecideContext): Action {
  const planned = toPlan(s, attachment, context);
  if (planned.kind === 'error') {
    return fail(planned.row, s, { attachment, failure: new Error(planned.message) });
  }
  const { reference, request, migrated } = planned.value;
  if (isFailed(s.secrets)) return fail('A9', s, { attachment, failure: s.secrets.failure });
  if (reference !== undefined && s.secrets === 'unasked') return { row: 'A9', kind: 'readSecrets', reference };
  const { registeredNodeId } = s;
  if (registeredNodeId.kind === 'error') {
    return fail('A10', s, { attachment, failure: new Error(registeredNodeId.message) });
  }
  const nodeId = registeredNodeId.value;
  if (isFailed(s.marked)) return fail('A11', s, { attachment, failure: messages.notMarked(s.marked.failure) });
  const isMarked =
    finalizersOf(attachment).includes(context.finalizer) &&
    attachment.metadata?.annotations?.[annotations.nodeId] === nodeId;
  if (s.marked === 'changed') return conclude('A11', atOnce);
  // The driver has registered under another id meanwhile. What is published must be what was written: a detach from a node that is gone
  // knows no other id.
  if (s.marked !== 'unasked' && s.marked.value !== nodeId) return conclude('A11', atOnce);
  if (!isMarked && s.marked === 'unasked') return { row: 'A11', kind: 'mark', attachment, nodeId };
  if (s.isBusy) return conclude('A12', busy);
  const secrets = s.secrets === 'unasked' ? {} : { secrets: s.secrets.value };
  return { row: 'A13', kind: 'publish', attachment, migrated, request: { ...request, node_id: nodeId, ...secrets } };
}

/** A forced run whose status is correct already writes nothing. */
function save(attachment: VolumeAttachment, context: PublishContext): Action {
  const { attached, attachmentMetadata = {}, attachError } = attachment.status ?? {};
  const saved = Object.entries(attachmentMetadata);
  const isSame = saved.length === Object.keys(context).length && saved.every(([key, value]) => context[key] === value);
  return attached === true && isSame && attachError === undefined
    ? conclude('A14', done)
    : { row: 'A14', kind: 'saveAttached', attachment, context };
}

/** First writes the error to the status, where users see it, then retries with the backoff, even if the status cannot be written. */
function fail(
  row: string,
  { isReported }: AttachState,
  { attachment, failure }: { readonly attachment: VolumeAttachment; readonly failure: Error },
): Action {
  if (isReported) return conclude(row, retry(failure));
  const code = failure instanceof CsiError ? numberOfCode(failure.code) : undefined;
  return { row, kind: 'report', attachment, error: { field: 'attachError', message: failure.message, code } };
}
