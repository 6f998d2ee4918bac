// SPDX-License-Identifier: Apache-2.0
/**
 * The leader: renews the Lease, and detects when it may no longer lead. A round of attempts begins one retry period after the
 * last success and ends with the next one. In a round there is an attempt at once and at every retry period:
 *
 * | Attempt | answer | then |
 * |---|---|---|
 * | renew (update of the known record, while it is valid) | ok | renewed |
 * | | anything else | get |
 * | get | mine, renewed by this process | keep |
 * | | mine, renewed by another process | lost: same identity twice |
 * | | another holder, valid or not | lost (upstream goes on until its deadline) |
 * | | no holder | take |
 * | | none | create |
 * | | error | wait for the next attempt |
 * | keep, take, create | ok | renewed |
 * | | conflict: something else wrote in between | get, at once; after ten of them wait for the next attempt |
 * | | anything else | wait for the next attempt |
 *
 * Lost as well: no success within the renew deadline of the round, or none for a whole lease duration, whatever the reason
 * (after a suspension, timers and answers arrive in any order).
 */
import type { Lease } from '../api/objects.ts';
import {
  after,
  cancelOf,
  ended,
  notify,
  type Effect,
  type Input,
  type LeaseAnswer,
  type Leading,
  type Round,
  type Step,
  type StopCause,
  type Turn,
} from './election-state.ts';
import { requestOf, type Attempt } from './lease-request.ts';
import { expiryOf, holderOf, observe } from './record.ts';
import { enterReleasing } from './releasing.ts';

/** Enough for a user who writes the Lease continually, and a bound for a server that always answers 409. */
const conflictsPerAttempt = 10;
/** More unconfirmed writes than a round can hold. */
const writesRemembered = 64;

/** `sentAtMs` is when the write that made this process leader was sent. */
export function enterLeading(turn: Turn, lease: Lease, sentAtMs: number): Step {
  return {
    state: confirmed(turn, lease, sentAtMs),
    effects: [
      { kind: 'watch', to: 'closed' },
      notify({ kind: 'acquired', lease }),
      notify({ kind: 'newLeader', identity: turn.config.identity }),
      { kind: 'startWork' },
    ],
  };
}

function confirmed({ config, nowMs }: Turn, lease: Lease, sentAtMs: number): Leading {
  return {
    kind: 'leading',
    observed: { lease, atMs: nowMs },
    renewedAtMs: sentAtMs,
    round: undefined,
    flight: undefined,
    written: [lease.spec?.renewTime ?? ''],
    // An answer may be late, so the next round has to begin while there is time left for it.
    wakeAtMs: Math.min(nowMs + config.retryPeriodMs, sentAtMs + config.renewDeadlineMs),
  };
}

export function stepLeading(turn: Turn, state: Leading, input: Input): Step {
  const next = advance(turn, state, input);
  // After the input, because an answer may be the renewal that was missing; before any effect of it.
  return next.state.kind === 'leading' && isStalled(turn, next.state) ? lose(state, 'stalled') : next;
}

/** Another replica may have the lease by now. */
export function isStalled({ config, nowMs }: Pick<Turn, 'config' | 'nowMs'>, { renewedAtMs }: Leading): boolean {
  return nowMs - renewedAtMs > config.leaseDurationMs;
}

/** New work needs a lease that was renewed lately; running work may go on until the lease may be lost. */
export function mayStartWork({ config, nowMs }: Pick<Turn, 'config' | 'nowMs'>, { renewedAtMs }: Leading): boolean {
  return nowMs - renewedAtMs <= config.renewDeadlineMs;
}

function advance(turn: Turn, state: Leading, input: Input): Step {
  switch (input.kind) {
    case 'wake':
      return onWake(turn, state);
    case 'answer':
      return onAnswer(turn, state, input.answer);
    case 'stop':
      return { state, effects: [{ kind: 'endWork', because: 'stopped' }] };
    case 'workEnded':
      return onWorkEnded(turn, state);
    case 'change':
      return { state, effects: [] };
  }
}

function onWake(turn: Turn, state: Leading): Step {
  const { round = newRound(turn, state) } = state;
  if (turn.nowMs >= round.deadlineMs) return lose(state, state.round === undefined ? 'stalled' : 'renewDeadline');
  if (state.flight !== undefined) return { state: { ...state, wakeAtMs: round.deadlineMs }, effects: [] };
  const isValid = turn.nowMs < expiryOf(state.observed);
  const attempt: Attempt = isValid ? { purpose: 'renew', lease: state.observed.lease } : { purpose: 'get' };
  return send(turn, { ...state, round: afterTick(turn, round) }, attempt);
}

function newRound({ config, nowMs }: Turn, { renewedAtMs }: Leading): Round {
  return {
    startedAtMs: nowMs,
    // Others may take over one lease duration after the last renewal: not a moment longer.
    deadlineMs: Math.min(nowMs + config.renewDeadlineMs, renewedAtMs + config.leaseDurationMs),
    nextTickMs: nowMs,
    conflicts: 0,
  };
}

/** Ticks do not slide: an attempt that took longer than a period is followed at once. */
function afterTick({ config, nowMs }: Turn, round: Round): Round {
  const passed = Math.floor((nowMs - round.startedAtMs) / config.retryPeriodMs) + 1;
  return { ...round, conflicts: 0, nextTickMs: round.startedAtMs + passed * config.retryPeriodMs };
}

function onAnswer(turn: Turn, state: Leading, answer: LeaseAnswer): Step {
  const { flight } = state;
  if (flight === undefined) return { state, effects: [] };
  const idle: Leading = { ...state, flight: undefined };
  if (flight.purpose === 'get') {
    if (answer.kind === 'ok') return onFetched(turn, idle, answer.lease);
    if (answer.kind === 'missing') return send(turn, idle, { purpose: 'create' });
  } else if (answer.kind === 'ok') {
    return { state: confirmed(turn, answer.lease, flight.sentAtMs), effects: [] };
  }
  const reported = [notify({ kind: 'failed', purpose: flight.purpose, error: answer.error })];
  if (flight.purpose === 'renew') return after(reported, send(turn, idle, { purpose: 'get' }));
  const { round } = idle;
  if (answer.kind !== 'conflict' || round === undefined || round.conflicts >= conflictsPerAttempt) {
    return waitForTick(turn, idle, reported);
  }
  const again: Leading = { ...idle, round: { ...round, conflicts: round.conflicts + 1 } };
  return after(reported, send(turn, again, { purpose: 'get' }));
}

function onFetched(turn: Turn, state: Leading, lease: Lease): Step {
  const holder = holderOf(lease);
  const seen: Leading = { ...state, observed: observe(state.observed, lease, turn.nowMs) };
  if (holder === '') return send(turn, seen, { purpose: 'take', lease });
  if (holder !== turn.config.identity) {
    return after([notify({ kind: 'newLeader', identity: holder })], lose(seen, 'otherHolder'));
  }
  if (!state.written.includes(lease.spec?.renewTime ?? '')) return lose(seen, 'sameIdentity');
  return after([notify({ kind: 'slowPath' })], send(turn, seen, { purpose: 'keep', lease }));
}

function waitForTick({ nowMs }: Turn, state: Leading, effects: readonly Effect[]): Step {
  const { nextTickMs, deadlineMs } = state.round ?? { nextTickMs: nowMs, deadlineMs: nowMs };
  return { state: { ...state, wakeAtMs: Math.min(nextTickMs, deadlineMs) }, effects };
}

function onWorkEnded(turn: Turn, state: Leading): Step {
  const effects = [...cancelOf(state.flight), notify(stopped(state, 'workEnded'))];
  return turn.config.releaseOnExit ? enterReleasing(turn, state.written, effects) : ended('stopped', effects);
}

function lose(state: Leading, because: StopCause): Step {
  return ended('lost', [
    ...cancelOf(state.flight),
    { kind: 'endWork', because: 'lost' },
    notify(stopped(state, because)),
  ]);
}

const stopped = ({ observed }: Leading, because: StopCause) =>
  ({ kind: 'stoppedLeading', lease: observed.lease, because }) as const;

function send(turn: Turn, state: Leading, attempt: Attempt): Step {
  const { config, nowMs } = turn;
  const request = requestOf(turn, attempt);
  const deadlineMs = state.round?.deadlineMs ?? nowMs;
  const renewTimes = request.kind === 'get' ? [] : [request.lease.spec?.renewTime ?? ''];
  return {
    state: {
      ...state,
      flight: { purpose: attempt.purpose, sentAtMs: nowMs },
      written: [...state.written, ...renewTimes].slice(-writesRemembered),
      wakeAtMs: deadlineMs,
    },
    effects: [{ kind: 'send', request, timeoutMs: Math.min(config.requestTimeoutMs, deadlineMs - nowMs) }],
  };
}
