// SPDX-License-Identifier: Apache-2.0
/** The conclusions of a run, and the steps before them: protecting a claim, removing its protection, giving it up. Pure. */
import { done, type Flow, type Outcome, perform, retry, retryWithin } from '@csi-sidecars/runtime';
import { type Answer, keptForMs, repeatedForMs } from './deletion.ts';
import { isCalled, isOutstanding, isRecordedElsewhere, mayProtect } from './known.ts';
import * as messages from './messages.ts';
import type { ClaimContext, Conclusion, Known, Row } from './state.ts';
import * as step from './steps.ts';

export function conclude(row: Row, outcome: Outcome): Conclusion {
  return { row, kind: 'conclude', outcome, events: [], driverEvents: [], counts: 'no' };
}

/** Not retried by itself. Counted as a failed attempt, as upstream does. */
export function stop(row: Row, message?: string): Conclusion {
  const events = message === undefined ? [] : [messages.failed(message)];
  return { ...conclude(row, done), events, counts: 'failure' };
}

/** Retried, with an event. Nothing is outstanding. */
export function refused(row: Row, message: string): Conclusion {
  return { ...stop(row, message), outcome: retry(new Error(message)) };
}

export interface Failure {
  readonly row: Row;
  readonly message: string;
  /** Missing if the driver was not reached. */
  readonly answer?: Answer | undefined;
}

/** Retried with the claim's backoff, with an event. A deleted claim does not wait beyond its bound. */
export function* fail(s: Known, context: ClaimContext, failure: Failure): Flow<Conclusion> {
  const { row, message, answer } = failure;
  const cause = new Error(message);
  const end = refused(row, message);
  if (s.presence === 'gone') return yield* failGone(s, context, { end: { ...end, events: [] }, answer });
  if (s.deletion === undefined || !isOutstanding(s)) return end;
  if (!s.isProtected) return failUnprotected(s, context, { end, answer });
  const answers = answer === undefined ? s.deletion.answers : [...s.deletion.answers, answer];
  const isEndless = context.settings.provisioningProtection === 'always';
  const boundMs = isEndless ? undefined : keptForMs(answers);
  const leftMs = boundMs === undefined ? undefined : boundMs - s.deletion.forMs;
  if (leftMs !== undefined && leftMs <= 0) return yield* giveUp(s, context, answers.at(-1) ?? 'open');
  return {
    ...end,
    events: [messages.failed(messages.whileSettling(message, finalizerFacts(s, context)))],
    ...(answer === undefined ? {} : { answer }),
    ...(leftMs === undefined ? {} : { outcome: retryWithin(leftMs, cause) }),
  };
}

interface Failed {
  readonly end: Conclusion;
  readonly answer: Answer | undefined;
}

/** The call is repeated from memory until the driver refuses. A single refusal may hide a volume; the third one in a row counts. */
function* failGone(s: Known, context: ClaimContext, { end, answer }: Failed): Flow<Conclusion> {
  const boundMs = answer && keptForMs([...(s.deletion?.answers ?? []), answer]);
  if (answer === 'final' && boundMs !== undefined) {
    yield* settle(s, 'C39');
    return { ...end, row: 'C39', outcome: done };
  }
  // The request was released, and cannot be made again: its source may be gone, and would be held in vain.
  if (s.memory.kind === 'open' && boundMs !== undefined && s.deletion!.forMs >= boundMs)
    return forgotten(s, context, end);
  return failUnprotected(s, context, { end, answer });
}

/** C62: memory alone knows of the call, and no user waits for it. It is repeated for a day and not for the life of the process. */
function failUnprotected(s: Known, context: ClaimContext, { end, answer }: Failed): Conclusion {
  if (s.deletion === undefined || s.deletion.seenForMs < repeatedForMs) {
    return answer === undefined ? end : { ...end, answer };
  }
  return forgotten(s, context, end);
}

function forgotten(s: Known, context: ClaimContext, end: Conclusion): Conclusion {
  const last = { ...end, row: 'C62', outcome: done, events: [] } as const;
  if (s.deletion!.isGivenUp === true) return last;
  const event = messages.givenUpEvent(messages.givenUp(finalizerFacts(s, context), sinceWhat(s)));
  return { ...last, events: s.presence === 'gone' ? [] : [event], givenUp: 'yes' };
}

function sinceWhat(s: Known): Parameters<typeof messages.givenUp>[1] {
  return isRecordedElsewhere(s) ? 'a volume of another node was recorded' : 'the claim was deleted';
}

/** C37, C38: the finalizer is removed although a volume may exist. */
export function* giveUp(s: Known, context: ClaimContext, answer: Answer): Flow<Conclusion> {
  Object.assign(s, yield* perform('C37', step.giveUp, s, answer));
  if (s.isProtected) return notGivenUp(s);
  const message = messages.givenUp(finalizerFacts(s, context), sinceWhat(s));
  return asGivenUp(conclude('C37', isCalled(s) ? retry(new Error(message)) : done), message);
}

/** C50, C38: the same for a claim that the instance of another node was to settle. */
export function* giveUpOther(s: Known, message: string): Flow<Conclusion> {
  const { write, ...changes } = yield* perform('C50', step.giveUpOther, s);
  Object.assign(s, changes);
  return write === 'done' ? asGivenUp(conclude('C50', done), message) : notGivenUp(s);
}

export function asGivenUp(end: Conclusion, message: string): Conclusion {
  return { ...end, events: [messages.givenUpEvent(message)], counts: 'failure', givenUp: 'yes' };
}

/** The claim has waited long enough, although its backoff may be minutes. */
const writeAgainMs = 10_000;

function notGivenUp(s: Known): Conclusion {
  return conclude('C38', retryWithin(writeAgainMs, notWritten(s, 'remove')));
}

export function finalizerFacts(s: Known, { driver, settings }: ClaimContext): messages.FinalizerFacts {
  const isEndless = settings.provisioningProtection === 'always';
  return { driverName: driver.name, volumeName: s.volumeName, isEndless };
}

/** The claim could not be updated. There is no event, because the next run writes again. */
export function retryWrite(row: Row, s: Known, which: 'add' | 'remove'): Conclusion {
  return conclude(row, retry(notWritten(s, which)));
}

function notWritten({ claim }: Known, which: 'add' | 'remove'): Error {
  const name = `${claim.metadata?.namespace ?? ''}/${claim.metadata?.name ?? ''}`;
  return new Error(`failed to ${which} the provisioning finalizer of claim ${name}`);
}

/** Puts the finalizer on, unless this run has tried. */
export function* protect(s: Known, context: ClaimContext, row: Row): Flow<void> {
  if (s.protecting !== undefined || !mayProtect(s, context)) return;
  Object.assign(s, yield* perform(row, step.protect, s));
}

/** Removes the finalizer: nothing is outstanding. Returns whether it is off. */
export function* unprotect(s: Known, row: Row): Flow<boolean> {
  Object.assign(s, yield* perform(row, step.unprotect, s));
  return !s.isProtected;
}

/** Memory: nothing is outstanding. `refusedBy`: UID of the class that the driver refused. */
export function* settle(s: Known, row: Row, refusedBy?: string): Flow<void> {
  s.memory = yield* perform(row, step.settle, s, refusedBy);
}

/** A volume may exist. The finalizer is written before the answer can be forgotten. */
export function* stayOpen(s: Known, context: ClaimContext, failure: Failure): Flow<Conclusion> {
  yield* protect(s, context, failure.row);
  return yield* fail(s, context, failure);
}

/** The outcome is known. A claim that is gone, or has a volume of another node, needs no further attempt and no event. */
export function* settled(s: Known, end: Conclusion, refusedBy?: string): Flow<Conclusion> {
  const isOver = s.presence === 'gone' || isRecordedElsewhere(s);
  return yield* finishSettled(s, isOver ? { ...end, events: [], outcome: done } : end, refusedBy);
}

/** Nothing is outstanding: memory first, so that a failed write does not cause another call; then the finalizer; then `end`. */
export function* finishSettled(s: Known, end: Conclusion, refusedBy?: string): Flow<Conclusion> {
  const { row } = end;
  const isRemembered = s.memory.kind === 'none' ? !s.isProtected : s.memory.kind === 'settled';
  if (!isRemembered) yield* settle(s, row, refusedBy);
  if (!s.isProtected || (yield* unprotect(s, row))) return end;
  // The finalizer could not be removed: the next run tries again. The events of this run are still sent.
  return { ...end, outcome: retryWrite(row, s, 'remove').outcome };
}
