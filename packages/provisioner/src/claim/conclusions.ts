// SPDX-License-Identifier: Apache-2.0
/** The conclusions of a run, and the steps before them: protecting a claim, removing its protection, giving it up. */
import { done, type Outcome, retry, retryWithin } from '@csi-sidecars/runtime';
import { type Answer, keptForMs, repeatedForMs } from './deletion.ts';
import * as messages from './messages.ts';
import { isRecordedElsewhere } from './protection.ts';
import type { Action, ClaimContext, ClaimState, Conclusion, Row } from './state.ts';

export function conclude(row: Row, outcome: Outcome): Conclusion {
  return { row, kind: 'conclude', outcome, events: [], driverEvents: [], counts: 'no' };
}

/** Not retried by itself. Counted as a failed attempt, as upstream does. */
export function stop(row: Row, message?: string): Conclusion {
  const events = message === undefined ? [] : [messages.failed(message)];
  return { ...conclude(row, done), events, counts: 'failure' };
}

export interface Failure {
  readonly row: Row;
  readonly message: string;
  /** Undefined if the driver was not reached. */
  readonly answer: Answer | undefined;
}

/** Retried with the claim's backoff, with an event. A deleted claim does not wait beyond its bound. */
export function fail(s: ClaimState, context: ClaimContext, failure: Failure): Action {
  const { row, message, answer } = failure;
  const cause = new Error(message);
  const end = {
    ...conclude(row, retry(cause)),
    events: [messages.failed(message)],
    counts: 'failure',
  } as const;
  if (s.presence === 'gone') return goneFailure(s, context, { end: { ...end, events: [] }, answer });
  if (s.deletion === undefined || !isOutstanding(s)) return end;
  if (!s.isProtected) return unprotectedFailure(s, context, { end, answer });
  const answers = answer === undefined ? s.deletion.answers : [...s.deletion.answers, answer];
  const isEndless = context.settings.provisioningProtection === 'always';
  const boundMs = isEndless ? undefined : keptForMs(answers);
  const leftMs = boundMs === undefined ? undefined : boundMs - s.deletion.forMs;
  if (leftMs !== undefined && leftMs <= 0) return { row: 'C37', kind: 'giveUp', answer: answers.at(-1) ?? 'open' };
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
function goneFailure(s: ClaimState, context: ClaimContext, { end, answer }: Failed): Action {
  const boundMs = answer && keptForMs([...(s.deletion?.answers ?? []), answer]);
  if (answer === 'final' && boundMs !== undefined) {
    return s.memory.kind === 'none' ? { ...end, row: 'C39', outcome: done } : { row: 'C39', kind: 'settle' };
  }
  // The request was released, and cannot be made again: its source may be gone, and would be held in vain.
  if (s.memory.kind === 'open' && boundMs !== undefined && s.deletion!.forMs >= boundMs)
    return forgotten(s, context, end);
  return unprotectedFailure(s, context, { end, answer });
}

/** C62: memory alone knows of the call, and no user waits for it. It is repeated for a day and not for the life of the process. */
function unprotectedFailure(s: ClaimState, context: ClaimContext, { end, answer }: Failed): Conclusion {
  if (s.deletion === undefined || s.deletion.seenForMs < repeatedForMs) {
    return answer === undefined ? end : { ...end, answer };
  }
  return forgotten(s, context, end);
}

function forgotten(s: ClaimState, context: ClaimContext, end: Conclusion): Conclusion {
  const last = { ...end, row: 'C62', outcome: done, events: [] } as const;
  if (s.deletion!.isGivenUp === true) return last;
  const event = messages.givenUpEvent(messages.givenUp(finalizerFacts(s, context), sinceWhat(s)));
  return { ...last, events: s.presence === 'gone' ? [] : [event], givenUp: 'yes' };
}

function sinceWhat(s: ClaimState): Parameters<typeof messages.givenUp>[1] {
  return isRecordedElsewhere(s) ? 'a volume of another node was recorded' : 'the claim was deleted';
}

/** C37: whether the claim has waited long enough before this run. */
export function isOverdue(s: ClaimState, { settings }: ClaimContext): boolean {
  if (s.presence !== 'deleting' || s.deletion === undefined || !s.isProtected || !isOutstanding(s)) return false;
  const boundMs = settings.provisioningProtection === 'always' ? undefined : keptForMs(s.deletion.answers);
  return boundMs !== undefined && s.deletion.forMs >= boundMs;
}

/** The claim has waited long enough, although its backoff may be minutes. */
const writeAgainMs = 10_000;

/** C37, C38, C50: the finalizer of a claim that is given up was removed, or could not be. */
export function givenUp(s: ClaimState, context: ClaimContext): Conclusion {
  if (s.givingUp !== 'done') {
    return { ...retryWrite('C38', s, 'remove'), outcome: retryWithin(writeAgainMs, notWritten(s, 'remove')) };
  }
  const facts = finalizerFacts(s, context);
  if (s.otherInstance !== undefined) {
    const isThere = s.otherNode !== 'unread' && s.otherNode.presence !== 'gone';
    const reason = isThere ? messages.instanceSilent : messages.instanceGone;
    const event = messages.givenUpEvent(reason(facts, s.otherInstance));
    return { ...conclude('C50', done), events: [event], counts: 'failure', givenUp: 'yes' };
  }
  const message = messages.givenUp(facts, sinceWhat(s));
  const goesOn = s.memory.kind === 'pinned' || s.memory.kind === 'open';
  const outcome = goesOn ? retry(new Error(message)) : done;
  return { ...conclude('C37', outcome), events: [messages.givenUpEvent(message)], counts: 'failure', givenUp: 'yes' };
}

export function finalizerFacts(s: ClaimState, { driver, settings }: ClaimContext): messages.FinalizerFacts {
  const isEndless = settings.provisioningProtection === 'always';
  return { driverName: driver.name, volumeName: s.volumeName, isEndless };
}

/** A volume may exist for the claim that no PersistentVolume records. */
export function isOutstanding({ memory, isProtected }: ClaimState): boolean {
  return memory.kind === 'none' ? isProtected : memory.kind !== 'settled';
}

/** The claim could not be updated. There is no event, because the next run writes again. */
export function retryWrite(row: Row, s: ClaimState, which: 'add' | 'remove'): Conclusion {
  return conclude(row, retry(notWritten(s, which)));
}

function notWritten({ claim }: ClaimState, which: 'add' | 'remove'): Error {
  const name = `${claim.metadata?.namespace ?? ''}/${claim.metadata?.name ?? ''}`;
  return new Error(`failed to ${which} the provisioning finalizer of claim ${name}`);
}

/** Nothing is outstanding: memory first, so that a failed write does not cause another call; then the finalizer; then `end`. */
export function finishSettled(s: ClaimState, end: Conclusion, refusedBy?: string): Action {
  const { row } = end;
  const { memory, isProtected, unprotecting } = s;
  const isRemembered = memory.kind === 'none' ? !isProtected || unprotecting !== 'untried' : memory.kind === 'settled';
  if (!isRemembered) return { row, kind: 'settle', ...(refusedBy === undefined ? {} : { refusedBy }) };
  if (!isProtected) return end;
  if (unprotecting === 'untried') return { row, kind: 'unprotect' };
  // The finalizer could not be removed: the next run tries again. The events of this run are still sent.
  return { ...end, outcome: retryWrite(row, s, 'remove').outcome };
}

/** As `finishSettled`, but the finalizer stays: the change that binds the claim removes it. */
export function settleUntilBound(s: ClaimState, end: Conclusion): Action {
  return s.memory.kind === 'settled' ? end : { row: end.row, kind: 'settle' };
}
