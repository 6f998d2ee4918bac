// SPDX-License-Identifier: Apache-2.0
/**
 * Releases the Lease after all work has ended. The decision uses the Lease as it was just read. Upstream uses the record that
 * it saw last, and so may take the lease from its current holder.
 *
 * | Step | answer | then |
 * |---|---|---|
 * | get | mine, renewed by this process | release |
 * | | another holder's, or no Lease | end without a write |
 * | release | ok | end |
 * | | conflict (a renewal was in flight, or another candidate took it) | get again, at once |
 * | any | another error | one error line, end: the lease expires by itself |
 *
 * The release ends at the renew deadline at the latest.
 */
import type { Lease } from '../api/objects.ts';
import {
  after,
  ended,
  notify,
  type Effect,
  type Input,
  type LeaseAnswer,
  type Releasing,
  type Step,
  type Turn,
} from './election-state.ts';
import { requestOf, type Attempt } from './lease-request.ts';
import { holderOf } from './record.ts';

export function enterReleasing(turn: Turn, written: readonly string[], effects: readonly Effect[]): Step {
  const deadlineMs = turn.nowMs + turn.config.renewDeadlineMs;
  return after(effects, send(turn, { written, wakeAtMs: deadlineMs }, { purpose: 'get' }));
}

export function stepReleasing(turn: Turn, state: Releasing, input: Input): Step {
  switch (input.kind) {
    case 'answer':
      return onAnswer(turn, state, input.answer);
    case 'wake':
      return ended('stopped', [{ kind: 'cancel' }, notify({ kind: 'notReleased', because: 'tooLate' })]);
    case 'change':
    case 'stop':
    case 'workEnded':
      return { state, effects: [] };
  }
}

function onAnswer(turn: Turn, state: Releasing, answer: LeaseAnswer): Step {
  const { purpose } = state.flight;
  if (answer.kind === 'ok') return purpose === 'release' ? ended('released', []) : onFetched(turn, state, answer.lease);
  if (answer.kind === 'missing') return notMine();
  if (answer.kind === 'conflict' && purpose === 'release') return send(turn, state, { purpose: 'get' });
  return ended('stopped', [notify({ kind: 'failed', purpose, error: answer.error })]);
}

function onFetched(turn: Turn, state: Releasing, lease: Lease): Step {
  const isMine = holderOf(lease) === turn.config.identity && state.written.includes(lease.spec?.renewTime ?? '');
  if (!isMine) return notMine();
  return send(turn, state, { purpose: 'release', lease });
}

const notMine = (): Step => ended('stopped', [notify({ kind: 'notReleased', because: 'notMine' })]);

function send(turn: Turn, { written, wakeAtMs }: Omit<Releasing, 'kind' | 'flight'>, attempt: Attempt): Step {
  const { config, nowMs } = turn;
  const timeoutMs = Math.min(config.requestTimeoutMs, wakeAtMs - nowMs);
  return {
    state: { kind: 'releasing', written, wakeAtMs, flight: { purpose: attempt.purpose, sentAtMs: nowMs } },
    effects: [{ kind: 'send', request: requestOf(turn, attempt), timeoutMs }],
  };
}
