// SPDX-License-Identifier: Apache-2.0
/**
 * A candidate that does not lead: reads the Lease and takes it when it may.
 *
 * | Lease | then |
 * |---|---|
 * | none | create it |
 * | we are the holder (a restart in place), unless our own record has to expire | keep it |
 * | no holder | take it |
 * | another holder, record unchanged for the duration it names | take it |
 * | another holder | wait |
 *
 * While a watch reports changes, the next read is due when the record expires, and a change is handled at once. Without a
 * watch the candidate reads the Lease every 1 to 2.2 retry periods, as upstream does.
 */
import { acquireJitter } from './election-config.ts';
import {
  after,
  cancelOf,
  ended,
  notify,
  type Effect,
  type Input,
  type LeaseAnswer,
  type LeaseChange,
  type Standby,
  type Step,
  type Turn,
} from './election-state.ts';
import { enterLeading } from './leading.ts';
import { requestOf, type Attempt } from './lease-request.ts';
import { expiryOf, holderOf, observe, observeRead, type Observed } from './record.ts';

/** The part of the retry period over which candidates that saw the same last renewal are spread: at most 1 s by default. */
const expiryJitter = 0.2;

export function beginStandby(turn: Turn): Step {
  const state: Standby = {
    kind: 'standby',
    observed: undefined,
    flight: undefined,
    watching: false,
    wakeAtMs: undefined,
  };
  const opening: readonly Effect[] = [notify({ kind: 'attempting' }), { kind: 'watch', to: 'open' }];
  return after(opening, send(turn, state, { purpose: 'get' }));
}

export function stepStandby(turn: Turn, state: Standby, input: Input): Step {
  switch (input.kind) {
    case 'wake':
      return state.flight === undefined ? send(turn, state, { purpose: 'get' }) : { state, effects: [] };
    case 'answer':
      return onAnswer(turn, state, input.answer);
    case 'change':
      return onChange(turn, state, input.change);
    case 'stop':
    case 'workEnded':
      return ended('stopped', [...cancelOf(state.flight), { kind: 'watch', to: 'closed' }]);
  }
}

function onAnswer(turn: Turn, state: Standby, answer: LeaseAnswer): Step {
  const { flight } = state;
  if (flight === undefined) return { state, effects: [] };
  const idle: Standby = { ...state, flight: undefined };
  if (flight.purpose === 'get') {
    if (answer.kind === 'ok') return onFetched(turn, idle, { lease: answer.lease, known: flight.known });
    if (answer.kind === 'missing') return send(turn, { ...idle, observed: undefined }, { purpose: 'create' });
  } else if (answer.kind === 'ok') {
    // An answer that waited while the process was suspended is out of date.
    const isLate = turn.nowMs - flight.sentAtMs > turn.config.leaseDurationMs;
    return isLate ? send(turn, idle, { purpose: 'get' }) : enterLeading(turn, answer.lease, flight.sentAtMs);
  }
  return pause(turn, idle, [notify({ kind: 'failed', purpose: flight.purpose, error: answer.error })]);
}

function onFetched(turn: Turn, state: Standby, read: Parameters<typeof observeRead>[1]): Step {
  const before = state.observed;
  const seen = see(turn, state, observeRead(before, read, turn.nowMs));
  // The watch should have reported this change. Whatever is wrong with it, a new watch begins with the current Lease.
  const isDeaf = state.watching && before !== undefined && seen.state.observed.atMs > before.atMs;
  if (!isDeaf) return judge(turn, seen.state, seen.effects);
  return judge(turn, { ...seen.state, watching: false }, [...seen.effects, { kind: 'watch', to: 'reopen' }]);
}

function onChange(turn: Turn, state: Standby, change: LeaseChange): Step {
  switch (change.kind) {
    case 'opened':
      return pause(turn, { ...state, watching: true }, []);
    case 'failed': {
      const effects = [notify({ kind: 'notWatching', error: change.error })];
      // Not scheduled again if nothing changed: a watch that fails repeatedly must not postpone the next read.
      return state.watching ? pause(turn, { ...state, watching: false }, effects) : { state, effects };
    }
    case 'deleted':
      return state.flight === undefined ? send(turn, state, { purpose: 'get' }) : { state, effects: [] };
    case 'seen': {
      const seen = see(turn, state, observe(state.observed, change.lease, turn.nowMs));
      return state.flight === undefined ? judge(turn, seen.state, seen.effects) : seen;
    }
  }
}

interface Seen {
  readonly state: Standby & { readonly observed: Observed };
  readonly effects: readonly Effect[];
}

function see(turn: Turn, state: Standby, observed: Observed): Seen {
  const holder = holderOf(observed.lease);
  const isNews = state.observed === undefined || holder !== holderOf(state.observed.lease);
  // A record of our own is logged only after it made us leader.
  const isOther = holder !== '' && holder !== turn.config.identity;
  return {
    state: { ...state, observed },
    effects: isNews && isOther ? [notify({ kind: 'newLeader', identity: holder })] : [],
  };
}

/** Applies the table above to the Lease as it is known now. */
function judge(turn: Turn, state: Seen['state'], effects: readonly Effect[]): Step {
  const { lease } = state.observed;
  const holder = holderOf(lease);
  if (holder === turn.config.identity && turn.config.ownRecord === 'keep') {
    return after([...effects, notify({ kind: 'slowPath' })], send(turn, state, { purpose: 'keep', lease }));
  }
  if (holder === '' || expiryOf(state.observed) <= turn.nowMs) {
    return after(effects, send(turn, state, { purpose: 'take', lease }));
  }
  return pause(turn, state, [...effects, notify({ kind: 'held', by: holder })]);
}

function send(turn: Turn, state: Standby, attempt: Attempt): Step {
  const { purpose } = attempt;
  const known = purpose === 'get' && state.observed !== undefined ? { known: state.observed } : {};
  return {
    state: { ...state, flight: { purpose, sentAtMs: turn.nowMs, ...known }, wakeAtMs: undefined },
    effects: [{ kind: 'send', request: requestOf(turn, attempt), timeoutMs: turn.config.requestTimeoutMs }],
  };
}

/** Waits for the next read, unless a request is in flight. */
function pause(turn: Turn, state: Standby, effects: readonly Effect[]): Step {
  const wakeAtMs = state.flight === undefined ? nextLook(turn, state) : undefined;
  return { state: { ...state, wakeAtMs }, effects };
}

function nextLook({ config, nowMs, random }: Turn, { observed, watching }: Standby): number {
  if (watching && observed !== undefined) {
    const expiresMs = expiryOf(observed) + config.retryPeriodMs * expiryJitter * random;
    if (expiresMs > nowMs) return expiresMs;
  }
  return nowMs + config.retryPeriodMs * (1 + acquireJitter * random);
}
