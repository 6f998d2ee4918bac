// SPDX-License-Identifier: Apache-2.0
/** Rows C23 to C35: from CreateVolume's answer to the end of the run. Pure; first match wins. */
import { done } from '@csi-sidecars/runtime';
import { conclude, fail, failWith, finishSettled, stop } from './conclusions.ts';
import * as messages from './messages.ts';
import type { CreateOutcome, TooSmall } from './outcome.ts';
import { toPersistentVolume } from './persistent-volume.ts';
import {
  type Action,
  type ClaimContext,
  type ClaimState,
  type Conclusion,
  hasSelectedNode,
  mayProtect,
} from './state.ts';

type Answered = ClaimState & { readonly created: CreateOutcome };

export function decideAnswer(s: Answered, context: ClaimContext): Action {
  const { created } = s;
  switch (created.kind) {
    case 'final':
      return created.isSettled
        ? settled(s, failWith(messages.failed(created.message), created.message))
        : open(s, created.message); // C23, C27
    case 'infeasible':
      return settled(s, { ...failWith(messages.infeasible(created.message), created.message), infeasible: 'yes' }); // C24
    case 'reschedule':
      return rescheduled(s, created.message);
    case 'ambiguous':
    case 'malformed':
      return open(s, created.message); // C27
    case 'tooSmall':
      return tooSmall(s, created);
    case 'made':
      return made(s, { ...created, context });
  }
}

/** C23: final. A claim that is gone needs no further try. */
function settled(s: ClaimState, end: Conclusion): Action {
  return finishSettled(s, s.presence === 'gone' ? { ...end, outcome: done } : end);
}

/** C27: a volume may exist. The finalizer is written before the answer can be forgotten. */
function open(s: ClaimState, message: string): Action {
  if (s.protecting === 'untried' && mayProtect(s)) return { kind: 'protect' };
  return fail(s, message);
}

/** C25, C26 */
function rescheduled(s: ClaimState, message: string): Action {
  if (s.presence !== 'live' || !hasSelectedNode(s)) return settled(s, failWith(messages.failed(message), message));
  if (s.unsettled === 'pinned') return { kind: 'settle' };
  if (s.rescheduling === 'untried') return { kind: 'reschedule', protection: 'remove' };
  return s.rescheduling === 'done' ? stop(message) : failWith(messages.failed(message), message);
}

/** C28 to C30 */
function tooSmall(s: ClaimState, volume: TooSmall): Action {
  const { message } = volume;
  if (s.cleanedUp === 'no') return { kind: 'cleanUp', volume, secrets: s.pinned?.request.secrets ?? {} }; // C28
  if (s.cleanedUp === 'yes') return settled(s, failWith(messages.failed(message), message)); // C29
  return open(s, messages.orphaned(message, { volumeName: s.volumeName, cause: s.cleanedUp.failure })); // C30
}

type Made = Extract<CreateOutcome, { kind: 'made' }> & { readonly context: ClaimContext };

/** C31 to C35 */
function made(s: ClaimState, { volume, bytes, context }: Made): Action {
  const { saved, pinned } = s;
  if (pinned === undefined) throw new Error('a volume was made without a pinned request');
  if (saved === undefined) {
    const { claim, plan } = pinned;
    return { kind: 'save', volume: toPersistentVolume({ ...context, claim, plan, volume, bytes }) }; // C31
  }
  switch (saved.kind) {
    case 'saved': {
      const events = saved.claim === 'there' ? [messages.succeeded(pinned.plan.volumeName)] : [];
      return finishSettled(s, { ...conclude(done), events, counts: 'success' }); // C32
    }
    case 'later':
      if (s.protecting === 'untried' && mayProtect(s)) return { kind: 'protect' };
      return { ...conclude(done), counts: 'success' }; // C33
    case 'taken':
      return settled(s, failWith(messages.failed(saved.message), saved.message)); // C34
    case 'refused':
      return open(s, saved.message); // C35
  }
}
