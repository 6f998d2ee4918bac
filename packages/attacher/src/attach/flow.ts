// SPDX-License-Identifier: Apache-2.0
/**
 * The attachment, from top to bottom: from a VolumeAttachment to a published volume (rows G1 to G4 and A1 to A14 of the attacher's page),
 * and back (rows D1 to D10). Pure; what each step does is in `steps.ts`.
 */
import { CsiError, numberOfCode } from '@csi-sidecars/csi';
import {
  type Conclusion,
  conclude,
  done,
  ending,
  type Flow,
  orEnd,
  type Outcome,
  perform,
  type PersistentVolume,
  requeueAfter,
  retry,
  toError,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import { finalizersOf, isAttached, isDeleting } from '../attachment.ts';
import { annotations } from '../names.ts';
import { volumeNotFound, volumeSourceOf } from '../volume-source.ts';
import { look, type Looked } from './look.ts';
import type { Publication } from './memory.ts';
import * as messages from './messages.ts';
import { type PlanContext, toPlan, toTarget } from './plan.ts';
import * as step from './steps.ts';

export interface FlowContext extends PlanContext {
  readonly finalizer: string;
}

export interface Observed extends Looked {
  /** The UID of the object that the run works on. A later object of the same name is left to the next run. */
  readonly uid: string | undefined;
  /** The comparison with the driver found a wrong status, so the run ignores the status. */
  readonly isForced: boolean;
  /** Undefined if it is not in the cache, which drops volumes of other drivers. */
  readonly volume: PersistentVolume | undefined;
}

/** The attachment is there. */
export type Present = Observed & { readonly attachment: VolumeAttachment };

/** The call in flight may take until its deadline, but most calls take much less than a second. */
const busy: Outcome = requeueAfter(1_000);
/** A new run sees what has changed during this one. */
const atOnce: Outcome = requeueAfter(0);

export function* attach(seen: Observed, context: FlowContext): Flow<Conclusion> {
  const { attachment, publication } = seen;
  if (publication !== undefined && publication.uid !== attachment?.metadata?.uid) {
    return yield* undo(publication, seen, context);
  }
  if (attachment === undefined) return conclude('G1', done);
  const present = { ...seen, attachment };
  return isDeleting(attachment) ? yield* detach(present, context) : yield* publish(present, context);
}

/** The attachment disappeared during its publish, so only the publication records that the volume may be on the node. */
function* undo(publication: Publication, seen: Observed, context: FlowContext): Flow<Conclusion> {
  if (seen.isNeededByAnother) {
    yield* perform('G2', step.forgetPublication);
  } else {
    const undone = yield* orEnd(perform('G4', step.unpublishOrphan, publication), (failure) =>
      conclude('G4', retry(failure)),
    );
    if (undone === 'busy') return conclude('G3', busy);
  }
  return yield* attach({ ...seen, ...(yield* perform('G4', look, seen.uid)) }, context);
}

function* publish(seen: Present, context: FlowContext): Flow<Conclusion> {
  const { attachment, uid } = seen;
  if (isAttached(attachment) && !seen.isForced) return conclude('A1', done);
  const source = volumeSourceOf(attachment);
  if (source.kind === 'error') return yield* failAttach('A2', attachment, new Error(source.message));
  const volume =
    source.value.kind === 'persistentVolume' ? yield* readyVolume(seen, source.value.name, context) : undefined;
  const planned = toPlan(attachment, volume, context);
  if (planned.kind === 'error') return yield* failAttach(planned.row, attachment, new Error(planned.message));
  const { reference, request, migrated } = planned.value;
  const secrets =
    reference &&
    (yield* orEnd(perform('A9', step.readSecrets, reference), (failure) => failAttach('A9', attachment, failure)));
  let now = yield* perform('A10', look, uid);
  if (now.attachment === undefined || isDeleting(now.attachment)) return yield* attach({ ...seen, ...now }, context);
  if (now.registeredNodeId.kind === 'error') {
    return yield* failAttach('A10', now.attachment, new Error(now.registeredNodeId.message));
  }
  const nodeId = now.registeredNodeId.value;
  if (!isMarked(now.attachment, nodeId, context)) {
    const unmarked = now.attachment;
    const marked = yield* orEnd(perform('A11', step.mark, unmarked, nodeId), (failure) =>
      failAttach('A11', unmarked, messages.notMarked(failure)),
    );
    if (marked === 'changed') return conclude('A11', atOnce);
    now = yield* perform('A11', look, uid);
    if (now.attachment === undefined || isDeleting(now.attachment)) return yield* attach({ ...seen, ...now }, context);
    // The driver has registered under another id meanwhile. What is published must be what was written: a detach from a node that is gone
    // knows no other id.
    if (now.registeredNodeId.kind === 'error' || now.registeredNodeId.value !== nodeId) return conclude('A11', atOnce);
  }
  const call = { request: { ...request, node_id: nodeId, ...(secrets && { secrets }) }, migrated };
  let published: step.PublishContext | 'busy' | Error;
  try {
    published = yield* perform('A13', step.publish, now.attachment, call);
  } catch (error) {
    published = toError(error);
  }
  if (published === 'busy') return conclude('A12', busy);
  return yield* record({ ...seen, ...(yield* perform('A13', look, uid)) }, published, context);
}

function isMarked(attachment: VolumeAttachment, nodeId: string, { finalizer }: FlowContext): boolean {
  const { metadata } = attachment;
  return finalizersOf(attachment).includes(finalizer) && metadata?.annotations?.[annotations.nodeId] === nodeId;
}

/** The PersistentVolume with our finalizer. */
function* readyVolume(
  { attachment, volume: cached }: Present,
  name: string,
  { finalizer }: FlowContext,
): Flow<PersistentVolume> {
  const volume =
    cached ?? (yield* orEnd(perform('A3', step.findVolume, name), (failure) => failAttach('A3', attachment, failure)));
  if (volume === undefined) throw ending(yield* failAttach('A4', attachment, new Error(volumeNotFound(name))));
  if (volume.metadata?.deletionTimestamp !== undefined) {
    throw ending(yield* failAttach('A5', attachment, new Error(messages.volumeDeleting(name))));
  }
  if (volume.metadata?.finalizers?.includes(finalizer) === true) return volume;
  return yield* orEnd(perform('A6', step.addVolumeFinalizer, volume), (failure) =>
    failAttach('A6', attachment, messages.noVolumeFinalizer(failure)),
  );
}

/** A forced run whose status is correct already writes nothing. */
function* record(seen: Observed, published: step.PublishContext | Error, context: FlowContext): Flow<Conclusion> {
  const { attachment, uid } = seen;
  if (attachment === undefined) return yield* attach(seen, context);
  if (published instanceof Error) {
    const failed = yield* failAttach('A13', attachment, published);
    // Deleted during its publish. The detach may take long, and users have to see why the volume was never attached.
    return isDeleting(attachment) ? conclude('A13', atOnce) : failed;
  }
  if (isDeleting(attachment)) return yield* attach(seen, context);
  if (isAttachSaved(attachment, published)) return conclude('A14', done);
  yield* orEnd(perform('A14', step.saveAttached, attachment, published), (failure) =>
    conclude('A14', retry(messages.notSaved(failure))),
  );
  const now = yield* perform('A14', look, uid);
  const isOver = now.attachment === undefined || isDeleting(now.attachment);
  return isOver ? yield* attach({ ...seen, ...now }, context) : conclude('A14', done);
}

function isAttachSaved({ status }: VolumeAttachment, published: step.PublishContext): boolean {
  const { attached, attachmentMetadata = {}, attachError } = status ?? {};
  const saved = Object.entries(attachmentMetadata);
  const isSame =
    saved.length === Object.keys(published).length && saved.every(([key, value]) => published[key] === value);
  return attached === true && isSame && attachError === undefined;
}

/** First writes the error to the status, where users see it, then retries with the backoff, even if the status cannot be written. */
function* failAttach(row: string, attachment: VolumeAttachment, failure: Error): Flow<Conclusion> {
  const code = failure instanceof CsiError ? numberOfCode(failure.code) : undefined;
  yield* perform(row, step.report, attachment, { field: 'attachError', message: failure.message, code } as const);
  return conclude(row, retry(failure));
}

function* detach(seen: Present, { finalizer }: FlowContext): Flow<Conclusion> {
  const { attachment, uid } = seen;
  const isHeld = finalizersOf(attachment).includes(finalizer);
  if (!isHeld && !seen.isForced && seen.publication === undefined) return conclude('D1', done);
  const source = volumeSourceOf(attachment);
  if (source.kind === 'error') return yield* failDetach('D2', attachment, source.message);
  let { volume } = seen;
  if (source.value.kind === 'persistentVolume') {
    const { name } = source.value;
    volume ??= yield* orEnd(perform('D3', step.findVolume, name), ({ message }) =>
      failDetach('D3', attachment, message),
    );
    if (volume === undefined) return yield* failDetach('D4', attachment, volumeNotFound(name));
  }
  const target = toTarget(attachment, volume);
  if (target.kind === 'error') return yield* failDetach('D5', attachment, target.message);
  const { csi, reference, migrated } = target.value;
  const secrets =
    reference &&
    (yield* orEnd(perform('D6', step.readSecrets, reference), ({ message }) => failDetach('D6', attachment, message)));
  const { knownNodeId } = yield* perform('D7', look, uid);
  if (knownNodeId.kind === 'error') return yield* failDetach('D7', attachment, knownNodeId.message);
  const call = { volumeId: csi.volumeHandle, nodeId: knownNodeId.value, secrets, migrated };
  const unpublished = yield* orEnd(perform('D8', step.unpublish, call), ({ message }) =>
    failDetach('D8', attachment, message),
  );
  if (unpublished === 'busy') return conclude('D8', busy);
  return yield* release(uid, finalizer);
}

/**
 * Removes the finalizer before it writes the status. In the opposite order an event would show our finalizer without `attached`, which
 * means that the volume may be on the node, and the volume would be unpublished a second time.
 */
function* release(uid: string | undefined, finalizer: string): Flow<Conclusion> {
  let { attachment } = yield* perform('D9', look, uid);
  if (attachment !== undefined && finalizersOf(attachment).includes(finalizer)) {
    const held = attachment;
    yield* orEnd(perform('D9', step.release, held), (failure) => failDetach('D9', held, messages.notDetached(failure)));
    ({ attachment } = yield* perform('D9', look, uid));
  }
  if (attachment === undefined) return conclude('G1', done);
  const left = attachment;
  if (isDetachSaved(left)) return conclude('D10', done);
  yield* orEnd(perform('D10', step.saveDetached, left), (failure) =>
    failDetach('D10', left, messages.notDetached(failure)),
  );
  return conclude('D10', done);
}

function isDetachSaved(attachment: VolumeAttachment): boolean {
  const { attachmentMetadata, detachError } = attachment.status ?? {};
  return !isAttached(attachment) && attachmentMetadata === undefined && detachError === undefined;
}

function* failDetach(row: string, attachment: VolumeAttachment, message: string): Flow<Conclusion> {
  yield* perform(row, step.report, attachment, { field: 'detachError', message } as const);
  return conclude(row, retry(new Error(message)));
}
