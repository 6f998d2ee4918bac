// SPDX-License-Identifier: Apache-2.0
/** The claim table from CreateVolume's answer to the end of the run. Pure; first match wins. */
import { done, type PersistentVolume, retry } from '@csi-sidecars/runtime';
import { mayRecord } from '@csi-sidecars/volume';
import { hasSelectedNode } from './claim.ts';
import { conclude, fail, type Failure, finishSettled, settleUntilBound, stop } from './conclusions.ts';
import { isElsewhere, waitsForBinding } from './decide-node.ts';
import * as messages from './messages.ts';
import type { CreateOutcome, Unusable } from './outcome.ts';
import { toRecord } from './persistent-volume.ts';
import { isRecordedElsewhere, mayProtect } from './protection.ts';
import type { Action, ClaimContext, ClaimState, Conclusion, Row } from './state.ts';

type Answered = ClaimState & { readonly created: CreateOutcome };

export function decideAnswer(s: Answered, context: ClaimContext): Action {
  const { created } = s;
  switch (created.kind) {
    case 'final':
      if (created.isSettled) return settled(s, refused('C23', created.message));
      if (s.memory.kind === 'pinned') return { row: 'C41', kind: 'releaseRequest' };
      return stayOpen(s, context, { row: 'C41', message: created.message, answer: 'final' });
    case 'infeasible': {
      const end = { ...refused('C24', created.message), events: [messages.infeasible(created.message)] };
      return settled(s, end, s.storageClass && (s.storageClass.metadata?.uid ?? ''));
    }
    case 'reschedule':
      return rescheduled(s, context, created.message);
    case 'ambiguous': {
      const answer = created.isAnswer ? 'open' : undefined;
      return stayOpen(s, context, { row: 'C27', message: created.message, answer });
    }
    case 'malformed':
      return stayOpen(s, context, { row: 'C27', message: created.message, answer: 'open' });
    case 'unusable':
      return unusable(s, context, created);
    case 'made':
      return made(s, context, created);
  }
}

function refused(row: Row, message: string): Conclusion {
  const events = [messages.failed(message)];
  return { ...conclude(row, retry(new Error(message))), events, counts: 'failure' };
}

/** The outcome is known. A claim that is gone, or has a volume of another node, needs no further attempt and no event. */
function settled(s: ClaimState, end: Conclusion, refusedBy?: string): Action {
  const isOver = s.presence === 'gone' || isRecordedElsewhere(s);
  return finishSettled(s, isOver ? { ...end, events: [], outcome: done } : end, refusedBy);
}

/** A volume may exist. The finalizer is written before the answer can be forgotten. */
export function stayOpen(s: ClaimState, context: ClaimContext, failure: Failure): Action {
  if (s.protecting === 'untried' && mayProtect(s, context)) return { row: failure.row, kind: 'protect' };
  return fail(s, context, failure);
}

/** C25, C26 */
function rescheduled(s: ClaimState, { settings }: ClaimContext, message: string): Action {
  if (s.rescheduling === 'done') return stop('C25', message);
  if (s.rescheduling !== 'untried') return refused('C25', message);
  const isChosen = hasSelectedNode(s.claim) && !isElsewhere(s, settings);
  if (s.presence !== 'live' || !isChosen || isRecordedElsewhere(s)) return settled(s, refused('C26', message));
  if (s.memory.kind === 'pinned' || s.memory.kind === 'open') return { row: 'C25', kind: 'settle' };
  return { row: 'C25', kind: 'reschedule', protection: 'remove' };
}

/** C28 to C30 */
function unusable(s: ClaimState, context: ClaimContext, volume: Unusable): Action {
  const { message } = volume;
  if (s.cleanedUp === 'no') {
    const secrets = s.memory.kind === 'pinned' ? (s.memory.pinned.request.secrets ?? {}) : {};
    return { row: 'C28', kind: 'cleanUp', volume, secrets };
  }
  if (s.cleanedUp === 'yes') return settled(s, refused('C29', message));
  const orphaned = messages.orphaned(volume, { volumeName: s.volumeName, cause: s.cleanedUp.failure });
  return stayOpen(s, context, { row: 'C30', message: orphaned, answer: 'open' });
}

type Made = Extract<CreateOutcome, { kind: 'made' }>;

interface Second extends Pick<Made, 'volume'> {
  /** The record of a volume on another node. */
  readonly record: PersistentVolume;
}

/** C60, C61: this node has a volume as well, and only the recorded one is used. */
function second(s: ClaimState, context: ClaimContext, { volume, record }: Second): Action {
  const { volume_id: volumeId, volume_context: attributes } = volume;
  const name = record.metadata?.name ?? '';
  const csi = { driver: context.driver.name, volumeHandle: volumeId, volumeAttributes: attributes };
  if (mayRecord(record, csi)) {
    // It may be the recorded one. Deleting that would destroy the data of the user.
    const event = messages.givenUpEvent(messages.maybeSecondVolume(name, volumeId));
    return finishSettled(s, { ...conclude('C61', done), events: [event], counts: 'failure', givenUp: 'yes' });
  }
  const message = messages.secondVolume(name, volumeId);
  const action = unusable(s, context, { row: 'O12', kind: 'unusable', message, volumeId, attributes });
  return s.cleanedUp === 'no' ? { ...action, row: 'C60' } : action;
}

/** C28, C31 to C35 */
function made(s: ClaimState, context: ClaimContext, outcome: Made): Action {
  if (s.volume.kind === 'elsewhere') {
    return second(s, context, { volume: outcome.volume, record: s.volume.record });
  }
  const { volume, bytes } = outcome;
  const { saved, memory } = s;
  if (saved === undefined) {
    if (memory.kind !== 'pinned') throw new Error('a volume was made without a pinned request');
    const { claim } = memory;
    const { plan } = memory.pinned;
    const record = toRecord({ ...context, claim, plan, volume, bytes });
    if (record.kind === 'ok') return { row: 'C31', kind: 'save', volume: record.value };
    const { volume_id: volumeId, volume_context: attributes } = volume;
    return unusable(s, context, { row: 'O11', kind: 'unusable', message: record.message, volumeId, attributes });
  }
  switch (saved.kind) {
    case 'saved': {
      const events = saved.claim === 'there' ? [messages.succeeded(s.volumeName)] : [];
      const end = { ...conclude('C32', done), events, counts: 'success' } as const;
      return waitsForBinding(s, context) ? settleUntilBound(s, end) : finishSettled(s, end);
    }
    case 'later':
      if (s.protecting === 'untried' && mayProtect(s, context)) return { row: 'C33', kind: 'protect' };
      return { ...conclude('C33', done), counts: 'success' };
    case 'taken':
      return settled(s, refused('C34', saved.message));
    case 'refused':
      return stayOpen(s, context, { row: 'C35', message: saved.message, answer: 'open' });
  }
}
