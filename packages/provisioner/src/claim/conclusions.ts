// SPDX-License-Identifier: Apache-2.0
/** The ends of a run, and the two steps that come before an end: writing the finalizer, and taking it off. */
import { done, type Outcome, type RecordedEvent, retry } from '@csi-sidecars/runtime';
import * as messages from './messages.ts';
import type { Action, ClaimState, Conclusion } from './state.ts';

export function conclude(outcome: Outcome): Conclusion {
  return { kind: 'conclude', outcome, events: [], driverEvents: [], counts: 'no', infeasible: 'no' };
}

/** Not tried again by itself. Counted as a failed attempt, as upstream does. */
export function stop(message?: string): Conclusion {
  const events = message === undefined ? [] : [messages.failed(message)];
  return { ...conclude(done), events, counts: 'failure' };
}

/** Tried again with the claim's backoff; the user is told why. */
export function fail(s: ClaimState, message: string): Conclusion {
  const isWaited = s.presence === 'deleting' && s.isProtected;
  const text = isWaited ? messages.whileSettling(message) : message;
  return failWith(messages.failed(text), message);
}

export function failWith(event: RecordedEvent, message: string): Conclusion {
  return { ...conclude(retry(new Error(message))), events: [event], counts: 'failure' };
}

/** The claim could not be updated: nobody needs an event, the next run writes again. */
export function retryWrite(s: ClaimState): Conclusion {
  const which = s.protecting === 'failed' ? 'add' : 'remove';
  const name = `${s.claim.metadata?.namespace ?? ''}/${s.claim.metadata?.name ?? ''}`;
  return conclude(retry(new Error(`failed to ${which} the provisioning finalizer of claim ${name}`)));
}

/** Nothing is outstanding: memory first, so that no failed write makes us call again; then the finalizer; then `end`. */
export function finishSettled(s: ClaimState, end: Conclusion): Action {
  if (s.unsettled === 'pinned' || s.unsettled === 'saving') return { kind: 'settle' };
  if (!s.isProtected) return end;
  if (s.unprotecting === 'untried') return s.unsettled === 'settled' ? { kind: 'unprotect' } : { kind: 'settle' };
  // The finalizer is still there although it was tried to take it off; what else there was to say is said all the same.
  return { ...end, outcome: retryWrite(s).outcome };
}
