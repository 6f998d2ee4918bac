// SPDX-License-Identifier: Apache-2.0
/** What follows from CreateVolume's answer: rows C23 to C35, C41, C60 and C61. Pure. */
import { done, type Flow, perform, type PersistentVolume } from '@csi-sidecars/runtime';
import { mayRecord } from '@csi-sidecars/volume';
import { hasSelectedNode } from './claim.ts';
import {
  asGivenUp,
  conclude,
  finishSettled,
  protect,
  refused,
  settle,
  settled,
  stayOpen,
  stop,
} from './conclusions.ts';
import { isElsewhere, isRecordedElsewhere, pinnedOf, waitsForBinding } from './known.ts';
import * as messages from './messages.ts';
import type { CreateOutcome, Unusable } from './outcome.ts';
import { toRecord } from './persistent-volume.ts';
import type { ClaimContext, Conclusion, Known } from './state.ts';
import * as step from './steps.ts';

export function* answered(s: Known, context: ClaimContext, created: CreateOutcome): Flow<Conclusion> {
  switch (created.kind) {
    case 'final':
      if (created.isSettled) return yield* settled(s, refused('C23', created.message));
      s.memory = yield* perform('C41', step.releaseRequest, s);
      return yield* stayOpen(s, context, { row: 'C41', message: created.message, answer: 'final' });
    case 'infeasible': {
      const end = { ...refused('C24', created.message), events: [messages.infeasible(created.message)] };
      return yield* settled(s, end, s.storageClass && (s.storageClass.metadata?.uid ?? ''));
    }
    case 'reschedule':
      return yield* rescheduled(s, context, created.message);
    case 'ambiguous': {
      const answer = created.isAnswer ? 'open' : undefined;
      return yield* stayOpen(s, context, { row: 'C27', message: created.message, answer });
    }
    case 'malformed':
      return yield* stayOpen(s, context, { row: 'C27', message: created.message, answer: 'open' });
    case 'unusable':
      return yield* unusable(s, context, created);
    case 'made':
      return yield* made(s, context, created);
  }
}

/** C25, C26 */
function* rescheduled(s: Known, { settings }: ClaimContext, message: string): Flow<Conclusion> {
  const isChosen = hasSelectedNode(s.claim) && !isElsewhere(s, settings);
  if (s.presence !== 'live' || !isChosen || isRecordedElsewhere(s)) {
    return yield* settled(s, refused('C26', message));
  }
  yield* settle(s, 'C25');
  const { write, ...changes } = yield* perform('C25', step.reschedule, s, 'remove');
  Object.assign(s, changes);
  return write === 'done' ? stop('C25', message) : refused('C25', message);
}

/** C28 to C30, C60 */
export function* unusable(s: Known, context: ClaimContext, volume: Unusable): Flow<Conclusion> {
  const { message } = volume;
  const { cleanedUp, ...changes } = yield* perform(volume.row === 'O12' ? 'C60' : 'C28', step.cleanUp, s, volume);
  Object.assign(s, changes, { created: volume });
  if (cleanedUp === 'yes') return yield* settled(s, refused('C29', message));
  const orphaned = messages.orphaned(volume, { volumeName: s.volumeName, cause: cleanedUp.failure });
  return yield* stayOpen(s, context, { row: 'C30', message: orphaned, answer: 'open' });
}

type Made = Extract<CreateOutcome, { kind: 'made' }>;

/** C31 to C35 */
function* made(s: Known, context: ClaimContext, { volume, bytes }: Made): Flow<Conclusion> {
  if (s.volume.kind === 'elsewhere') return yield* second(s, context, { volume, record: s.volume.record });
  const { claim, pinned } = pinnedOf(s);
  const record = toRecord({ ...context, claim, plan: pinned.plan, volume, bytes });
  if (record.kind === 'error') {
    const { volume_id: volumeId, volume_context: attributes } = volume;
    const { message } = record;
    return yield* unusable(s, context, { row: 'O11', kind: 'unusable', message, volumeId, attributes });
  }
  const { saved, ...changes } = yield* perform('C31', step.save, s, record.value);
  Object.assign(s, changes);
  const found = changes.volume;
  if (found?.kind === 'elsewhere') return yield* second(s, context, { volume, record: found.record });
  switch (saved.kind) {
    case 'saved': {
      const events = saved.claim === 'there' ? [messages.succeeded(s.volumeName)] : [];
      const end = { ...conclude('C32', done), events, counts: 'success' } as const;
      if (!waitsForBinding(s, context)) return yield* finishSettled(s, end);
      // The change that binds the claim removes the finalizer.
      yield* settle(s, 'C32');
      return end;
    }
    case 'later':
      yield* protect(s, context, 'C33');
      return { ...conclude('C33', done), counts: 'success' };
    case 'taken':
      return yield* settled(s, refused('C34', saved.message));
    case 'refused':
      return yield* stayOpen(s, context, { row: 'C35', message: saved.message, answer: 'open' });
  }
}

interface Second extends Pick<Made, 'volume'> {
  /** The record of a volume on another node. */
  readonly record: PersistentVolume;
}

/** C60, C61: this node has a volume as well, and only the recorded one is used. */
function* second(s: Known, context: ClaimContext, { volume, record }: Second): Flow<Conclusion> {
  const { volume_id: volumeId, volume_context: attributes } = volume;
  const name = record.metadata?.name ?? '';
  const csi = { driver: context.driver.name, volumeHandle: volumeId, volumeAttributes: attributes };
  if (mayRecord(record, csi)) {
    // It may be the recorded one. Deleting that would destroy the data of the user.
    return yield* finishSettled(s, asGivenUp(conclude('C61', done), messages.maybeSecondVolume(name, volumeId)));
  }
  const message = messages.secondVolume(name, volumeId);
  return yield* unusable(s, context, { row: 'O12', kind: 'unusable', message, volumeId, attributes });
}
