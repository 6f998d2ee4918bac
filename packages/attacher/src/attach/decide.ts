// SPDX-License-Identifier: Apache-2.0
/** Rows G1 to G4 and A1 to A15. Pure; first match wins. The rows of the detach are in `decide-detach.ts`. */
import { done, retry, type VolumeAttachment } from '@csi-sidecars/runtime';
import { annotations } from '../names.ts';
import { volumeNotFound, volumeSourceOf } from '../volume-source.ts';
import { finalizersOf, isAttached, isDeleting } from '../attachment-facts.ts';
import { busy, conclude } from './conclude.ts';
import { decideDetach } from './decide-detach.ts';
import * as messages from './messages.ts';
import { toPlan } from './plan.ts';
import type { Action, AttachContext, AttachState, PublishContext } from './state.ts';

export function decide(s: AttachState, context: AttachContext): Action {
  const { attachment, publication } = s;
  if (publication !== undefined && publication.uid !== attachment?.metadata?.uid) return takeBack(s, publication);
  if (attachment === undefined) return conclude(done); // G1
  return isDeleting(attachment) ? decideDetach(s, attachment, context) : decideAttach(s, attachment, context);
}

/** The attachment went away during its publish: what it left on the node has no other record. */
function takeBack(s: AttachState, publication: NonNullable<AttachState['publication']>): Action {
  if (s.isPlaceTaken) return { kind: 'forgetPublication' }; // G2
  if (s.isBusy) return conclude(busy); // G3
  if (typeof s.takenBack === 'object') return conclude(retry(new Error(s.takenBack.failure))); // G4
  return { kind: 'takeBack', publication }; // G4
}

function decideAttach(s: AttachState, attachment: VolumeAttachment, context: AttachContext): Action {
  if (s.saved === 'done') return conclude(done); // A14
  if (typeof s.saved === 'object') return conclude(retry(new Error(messages.notSaved(s.saved.failure)))); // A14
  if (s.published.kind === 'done') return save(attachment, s.published.context); // A13, A14
  if (s.published.kind === 'failed') return fail(s, attachment, s.published); // A13
  if (isAttached(attachment) && !s.isForced) return conclude(done); // A1
  const source = volumeSourceOf(attachment);
  if (source.kind === 'error') return fail(s, attachment, source); // A2
  if (source.value.kind === 'persistentVolume') {
    const { name } = source.value;
    const { volume } = s;
    if (volume.kind === 'unread') return { kind: 'findVolume', name }; // A3
    if (volume.kind === 'failed') return fail(s, attachment, volume); // A3
    if (volume.kind === 'missing') return fail(s, attachment, { message: volumeNotFound(name) }); // A4
    const { metadata } = volume.volume;
    if (metadata?.deletionTimestamp !== undefined) {
      return fail(s, attachment, { message: messages.volumeDeleting(name) }); // A5
    }
    if (typeof s.guarding === 'object') {
      return fail(s, attachment, { message: messages.notGuarded(s.guarding.failure) }); // A6
    }
    if (metadata?.finalizers?.includes(context.finalizer) !== true && s.guarding === 'untried') {
      return { kind: 'guardVolume', volume: volume.volume }; // A6
    }
  }
  return towardsPublish(s, attachment, context);
}

function towardsPublish(s: AttachState, attachment: VolumeAttachment, context: AttachContext): Action {
  const planned = toPlan(s, attachment, context);
  if (planned.kind === 'error') return fail(s, attachment, planned); // A7, A8
  const { reference, request, migrated } = planned.value;
  if (s.secrets.kind === 'failed') {
    return fail(s, attachment, s.secrets); // A9
  }
  if (reference !== undefined && s.secrets.kind === 'unread') return { kind: 'readSecrets', reference }; // A9
  const { registeredNodeId } = s;
  if (registeredNodeId.kind === 'error') return fail(s, attachment, registeredNodeId); // A10
  const nodeId = registeredNodeId.value;
  if (typeof s.marking === 'object') return fail(s, attachment, { message: messages.notMarked(s.marking.failure) }); // A11
  const isMarked =
    finalizersOf(attachment).includes(context.finalizer) &&
    attachment.metadata?.annotations?.[annotations.nodeId] === nodeId;
  if (!isMarked && s.marking === 'untried') return { kind: 'mark', attachment, nodeId }; // A11
  if (s.isBusy) return conclude(busy); // A12
  const secrets = s.secrets.kind === 'found' ? s.secrets.values : undefined;
  return {
    kind: 'publish',
    attachment,
    migrated,
    request: { ...request, node_id: nodeId, ...(secrets === undefined ? {} : { secrets }) },
  }; // A13
}

/** A forced run that finds everything as the status says has nothing to write. */
function save(attachment: VolumeAttachment, context: PublishContext): Action {
  const { attached, attachmentMetadata = {}, attachError } = attachment.status ?? {};
  const saved = Object.entries(attachmentMetadata);
  const isSame = saved.length === Object.keys(context).length && saved.every(([key, value]) => context[key] === value);
  return attached === true && isSame && attachError === undefined
    ? conclude(done)
    : { kind: 'saveAttached', attachment, context };
}

/** First what users see, then the backoff. A report that fails does not hide what it reports. */
function fail(
  { reported }: AttachState,
  attachment: VolumeAttachment,
  { message, code }: { readonly message: string; readonly code?: number | undefined },
): Action {
  if (reported === 'yes') return conclude(retry(new Error(message))); // A15
  return { kind: 'report', attachment, error: { field: 'attachError', message, code } }; // A15
}
