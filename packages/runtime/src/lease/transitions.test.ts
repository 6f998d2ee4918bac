// SPDX-License-Identifier: Apache-2.0
/** The tables of the election, transition by transition: one state and one input, then the whole next state and all effects. */
import { describe, expect, it } from 'vitest';
import type { Lease } from '../api/objects.ts';
import { toElectionConfig } from './election-config.ts';
import type {
  ElectionState,
  Input,
  LeaseAnswer,
  LeaseChange,
  Leading,
  Releasing,
  Standby,
  StopCause,
  Turn,
} from './election-state.ts';
import { requestOf, type Attempt } from './lease-request.ts';
import { mayStartWork } from './leading.ts';
import { beginStandby } from './standby.ts';
import { step } from './step.ts';

/** A lease of 15 s, a renew deadline of 10 s, a retry period of 5 s, requests of at most 5 s. */
const config = toElectionConfig({ namespace: 'ns', name: 'lock', identity: 'me' });

function turn(nowMs: number, changes: Partial<Turn> = {}): Turn {
  return { config, nowMs, wallMs: 1e12 + nowMs, random: 0.5, ...changes };
}

function leaseOf(holderIdentity: string, spec: Lease['spec'] = {}, resourceVersion = '5'): Lease {
  return {
    metadata: { namespace: 'ns', name: 'lock', resourceVersion },
    spec: { holderIdentity, leaseDurationSeconds: 15, renewTime: 't0', ...spec },
  };
}

const [mine, theirs, free] = [leaseOf('me'), leaseOf('other'), leaseOf('')];
const bare: Lease = { metadata: { namespace: 'ns', name: 'lock', resourceVersion: '6' } };
const error = new Error('no');
const answer = (kind: LeaseAnswer['kind'], lease: Lease = mine): Input => ({
  kind: 'answer',
  answer: kind === 'ok' ? { kind, lease } : { kind, error },
});
const change = (of: LeaseChange): Input => ({ kind: 'change', change: of });
const wake: Input = { kind: 'wake' };
const stop: Input = { kind: 'stop' };
const workEnded: Input = { kind: 'workEnded' };

const notify = (notice: object): object => ({ kind: 'notify', notice });
const sends = (of: Turn, attempt: Attempt, timeoutMs = 5000): object => ({
  kind: 'send',
  request: requestOf(of, attempt),
  timeoutMs,
});
const failed = (purpose: string): object => notify({ kind: 'failed', purpose, error });

describe('a standby', () => {
  const standby = (changes: Partial<Standby> = {}): Standby => ({
    kind: 'standby',
    observed: undefined,
    flight: undefined,
    watching: false,
    wakeAtMs: 7,
    ...changes,
  });
  const reading = { purpose: 'get', sentAtMs: 900 } as const;
  const seen = { lease: theirs, atMs: 100 };
  const t = turn(1000);
  /** Without a watch: a retry period, and half of 1.2 retry periods. */
  const nextReadMs = 1000 + 5000 + 3000;
  const held = notify({ kind: 'held', by: 'other' });
  const newLeader = notify({ kind: 'newLeader', identity: 'other' });
  const flight = (purpose: string): object => ({ flight: { purpose, sentAtMs: 1000 }, wakeAtMs: undefined });

  it('given the beginning, then it opens a watch and reads the Lease', () => {
    expect(beginStandby(t)).toStrictEqual({
      state: standby({ flight: { purpose: 'get', sentAtMs: 1000 }, wakeAtMs: undefined }),
      effects: [notify({ kind: 'attempting' }), { kind: 'watch', to: 'open' }, sends(t, { purpose: 'get' })],
    });
  });

  it.each<[string, Standby, Input, object, readonly object[]]>([
    ['a wake-up', standby(), wake, flight('get'), [sends(t, { purpose: 'get' })]],
    ['a wake-up during a request', standby({ flight: reading }), wake, {}, []],
    ['an answer that it does not wait for', standby(), answer('ok'), {}, []],
    [
      'a Lease that another candidate holds',
      standby({ flight: reading }),
      answer('ok', theirs),
      { flight: undefined, observed: { lease: theirs, atMs: 1000 }, wakeAtMs: nextReadMs },
      [newLeader, held],
    ],
    [
      'the same Lease again',
      standby({ flight: reading, observed: seen }),
      answer('ok', theirs),
      { flight: undefined, wakeAtMs: nextReadMs },
      [held],
    ],
    [
      'another holder than before',
      standby({ flight: reading, observed: { lease: leaseOf('third'), atMs: 100 } }),
      answer('ok', theirs),
      { flight: undefined, observed: { lease: theirs, atMs: 1000 }, wakeAtMs: nextReadMs },
      [newLeader, held],
    ],
    [
      'a Lease without holder',
      standby({ flight: reading, observed: seen }),
      answer('ok', free),
      { observed: { lease: free, atMs: 1000 }, ...flight('take') },
      [sends(t, { purpose: 'take', lease: free })],
    ],
    [
      'a Lease without a spec',
      standby({ flight: reading }),
      answer('ok', bare),
      { observed: { lease: bare, atMs: 1000 }, ...flight('take') },
      [sends(t, { purpose: 'take', lease: bare })],
    ],
    [
      'its own Lease',
      standby({ flight: reading }),
      answer('ok', mine),
      { observed: { lease: mine, atMs: 1000 }, ...flight('keep') },
      [notify({ kind: 'slowPath' }), sends(t, { purpose: 'keep', lease: mine })],
    ],
    [
      'a Lease that expires now',
      standby({ flight: reading, observed: { lease: theirs, atMs: 1000 - 15_000 } }),
      answer('ok', theirs),
      flight('take'),
      [sends(t, { purpose: 'take', lease: theirs })],
    ],
    [
      'a Lease that expires in a millisecond',
      standby({ flight: reading, observed: { lease: theirs, atMs: 1001 - 15_000 } }),
      answer('ok', theirs),
      { flight: undefined, wakeAtMs: nextReadMs },
      [held],
    ],
    [
      'a change that its watch did not report',
      standby({ flight: reading, observed: { lease: leaseOf('third'), atMs: 100 }, watching: true }),
      answer('ok', theirs),
      { flight: undefined, observed: { lease: theirs, atMs: 1000 }, watching: false, wakeAtMs: nextReadMs },
      [newLeader, { kind: 'watch', to: 'reopen' }, held],
    ],
    [
      'its own Lease, which its watch did not report',
      standby({ flight: reading, observed: { lease: leaseOf('third'), atMs: 100 }, watching: true }),
      answer('ok', mine),
      { observed: { lease: mine, atMs: 1000 }, watching: false, ...flight('keep') },
      [{ kind: 'watch', to: 'reopen' }, notify({ kind: 'slowPath' }), sends(t, { purpose: 'keep', lease: mine })],
    ],
    [
      'an unchanged Lease beside a watch',
      standby({ flight: reading, observed: seen, watching: true }),
      answer('ok', theirs),
      { flight: undefined, wakeAtMs: 100 + 15_000 + 500 },
      [held],
    ],
    [
      'the first Lease beside a watch',
      standby({ flight: reading, watching: true }),
      answer('ok', theirs),
      { flight: undefined, observed: { lease: theirs, atMs: 1000 }, wakeAtMs: 1000 + 15_000 + 500 },
      [newLeader, held],
    ],
    [
      'no Lease',
      standby({ flight: reading, observed: seen }),
      answer('missing'),
      { observed: undefined, ...flight('create') },
      [sends(t, { purpose: 'create' })],
    ],
    [
      'a read that fails',
      standby({ flight: reading }),
      answer('failed'),
      { flight: undefined, wakeAtMs: nextReadMs },
      [failed('get')],
    ],
    [
      'a Lease that another candidate created first',
      standby({ flight: { purpose: 'create', sentAtMs: 900 } }),
      answer('conflict'),
      { flight: undefined, wakeAtMs: nextReadMs },
      [failed('create')],
    ],
    [
      'a Lease that is missing at the update',
      standby({ flight: { purpose: 'take', sentAtMs: 900 } }),
      answer('missing'),
      { flight: undefined, wakeAtMs: nextReadMs },
      [failed('take')],
    ],
    [
      'an answer that is older than a lease',
      standby({ flight: { purpose: 'take', sentAtMs: 999 - 15_000 } }),
      answer('ok', mine),
      flight('get'),
      [sends(t, { purpose: 'get' })],
    ],
    [
      'a watch that opens before the first read',
      standby(),
      change({ kind: 'opened' }),
      { watching: true, wakeAtMs: nextReadMs },
      [],
    ],
    [
      'a watch that opens',
      standby({ observed: seen }),
      change({ kind: 'opened' }),
      { watching: true, wakeAtMs: 100 + 15_000 + 500 },
      [],
    ],
    [
      'a watch that opens during a request',
      standby({ flight: reading }),
      change({ kind: 'opened' }),
      { watching: true, wakeAtMs: undefined },
      [],
    ],
    [
      'a watch that fails',
      standby({ observed: seen, watching: true }),
      change({ kind: 'failed', error }),
      { watching: false, wakeAtMs: nextReadMs },
      [notify({ kind: 'notWatching', error })],
    ],
    [
      'a watch that fails again',
      standby({ observed: seen }),
      change({ kind: 'failed', error }),
      {},
      [notify({ kind: 'notWatching', error })],
    ],
    ['a Lease that is deleted', standby(), change({ kind: 'deleted' }), flight('get'), [sends(t, { purpose: 'get' })]],
    ['a Lease that is deleted during a request', standby({ flight: reading }), change({ kind: 'deleted' }), {}, []],
    [
      'a Lease that the watch reports',
      standby({ watching: true }),
      change({ kind: 'seen', lease: free }),
      { observed: { lease: free, atMs: 1000 }, ...flight('take') },
      [sends(t, { purpose: 'take', lease: free })],
    ],
    [
      'a Lease that the watch reports during a request',
      standby({ watching: true, flight: reading }),
      change({ kind: 'seen', lease: theirs }),
      { observed: { lease: theirs, atMs: 1000 } },
      [newLeader],
    ],
  ])(
    'given %s, then the next state and the effects are those of the table',
    (...[, state, input, changes, effects]) => {
      expect(step(t, state, input)).toStrictEqual({ state: { ...state, ...changes }, effects });
    },
  );

  it.each([stop, workEnded])('given the input %o, then the request is cancelled and the watch is closed', (input) => {
    const watch = { kind: 'watch', to: 'closed' };
    const state = { kind: 'ended', result: 'stopped' };
    expect(step(t, standby(), input)).toStrictEqual({ state, effects: [watch] });
    expect(step(t, standby({ flight: reading }), input)).toStrictEqual({ state, effects: [{ kind: 'cancel' }, watch] });
  });

  it.each([900, 1000 - 15_000])(
    'given a Lease that was taken by a write sent at %i ms, then it leads from that time on',
    (sentAtMs) => {
      const lease = leaseOf('me', { renewTime: 't1' });
      expect(step(t, standby({ flight: { purpose: 'take', sentAtMs } }), answer('ok', lease))).toStrictEqual({
        state: {
          kind: 'leading',
          observed: { lease, atMs: 1000 },
          renewedAtMs: sentAtMs,
          round: undefined,
          flight: undefined,
          written: ['t1'],
          wakeAtMs: Math.min(6000, sentAtMs + 10_000),
        },
        effects: [
          { kind: 'watch', to: 'closed' },
          notify({ kind: 'acquired', lease }),
          notify({ kind: 'newLeader', identity: 'me' }),
          { kind: 'startWork' },
        ],
      });
    },
  );

  it("given a process that has led before, then a record of its own name is another process's, and is taken when it has expired", () => {
    const later = turn(1000, { config: { ...config, ownRecord: 'expire' } });
    expect(step(later, standby({ flight: reading }), answer('ok', mine))).toStrictEqual({
      state: standby({ observed: { lease: mine, atMs: 1000 }, wakeAtMs: nextReadMs }),
      effects: [notify({ kind: 'held', by: 'me' })],
    });
    const expired = { lease: mine, atMs: 1000 - 15_000 };
    expect(step(later, standby({ flight: reading, observed: expired }), answer('ok', mine))).toStrictEqual({
      state: { ...standby({ observed: expired }), ...flight('take') },
      effects: [sends(later, { purpose: 'take', lease: mine })],
    });
  });

  it('given a watch and a record that expires at this moment, then the next read comes after a retry period', () => {
    const now = turn(100 + 15_000, { random: 0 });
    const { state } = step(now, standby({ observed: seen }), change({ kind: 'opened' }));
    expect(state).toMatchObject({ watching: true, wakeAtMs: now.nowMs + 5000 });
  });
});

describe('a leader', () => {
  const leading = (changes: Partial<Leading> = {}): Leading => ({
    kind: 'leading',
    observed: { lease: mine, atMs: 0 },
    renewedAtMs: 0,
    round: undefined,
    flight: undefined,
    written: ['t0'],
    wakeAtMs: 5000,
    ...changes,
  });
  const round = { startedAtMs: 5000, deadlineMs: 15_000, nextTickMs: 10_000, conflicts: 0 };
  const waitingFor = (purpose: 'get' | 'renew' | 'keep') => ({ round, flight: { purpose, sentAtMs: 5500 } });
  const t = turn(6000);
  /** The state after a request was sent at this turn. */
  const sent = (of: Turn, attempt: Attempt, deadlineMs = 15_000): object => {
    const request = requestOf(of, attempt);
    return {
      flight: { purpose: attempt.purpose, sentAtMs: of.nowMs },
      written: request.kind === 'get' ? ['t0'] : ['t0', request.lease.spec?.renewTime],
      wakeAtMs: deadlineMs,
    };
  };
  const lost = (because: StopCause, lease: Lease = mine): readonly object[] => [
    { kind: 'endWork', because: 'lost' },
    notify({ kind: 'stoppedLeading', lease, because }),
  ];
  const ended = { kind: 'ended', result: 'lost' };

  it.each<[string, Turn, Leading, Input, object, readonly object[]]>([
    [
      'the end of the retry period',
      turn(5000),
      leading(),
      wake,
      { round, ...sent(turn(5000), { purpose: 'renew', lease: mine }) },
      [sends(turn(5000), { purpose: 'renew', lease: mine })],
    ],
    [
      'a tick of the round',
      turn(11_000),
      leading({ round: { ...round, conflicts: 3 } }),
      wake,
      {
        round: { ...round, nextTickMs: 15_000 },
        ...sent(turn(11_000), { purpose: 'renew', lease: mine }),
      },
      [sends(turn(11_000), { purpose: 'renew', lease: mine }, 4000)],
    ],
    [
      'a late wake-up',
      turn(9000),
      leading(),
      wake,
      {
        round: { startedAtMs: 9000, deadlineMs: 15_000, nextTickMs: 14_000, conflicts: 0 },
        ...sent(turn(9000), { purpose: 'renew', lease: mine }),
      },
      [sends(turn(9000), { purpose: 'renew', lease: mine })],
    ],
    [
      'a record that has expired',
      turn(5000),
      leading({ observed: { lease: leaseOf('me', { leaseDurationSeconds: 5 }), atMs: 0 } }),
      wake,
      { round, ...sent(turn(5000), { purpose: 'get' }) },
      [sends(turn(5000), { purpose: 'get' })],
    ],
    ['a tick during a request', turn(10_000), leading(waitingFor('renew')), wake, { wakeAtMs: 15_000 }, []],
    ['an answer that it does not wait for', t, leading(), answer('ok'), {}, []],
    ['a stop', t, leading(), stop, {}, [{ kind: 'endWork', because: 'stopped' }]],
    ['a change of the Lease', t, leading(), change({ kind: 'seen', lease: theirs }), {}, []],
    [
      'a renewal',
      t,
      leading({ ...waitingFor('renew'), written: ['t0', 't1'] }),
      answer('ok', leaseOf('me', { renewTime: 't1' })),
      {
        observed: { lease: leaseOf('me', { renewTime: 't1' }), atMs: 6000 },
        renewedAtMs: 5500,
        round: undefined,
        flight: undefined,
        written: ['t1'],
        wakeAtMs: 11_000,
      },
      [],
    ],
    [
      'a renewal that fails',
      t,
      leading(waitingFor('renew')),
      answer('failed'),
      sent(t, { purpose: 'get' }),
      [failed('renew'), sends(t, { purpose: 'get' })],
    ],
    [
      'its own Lease',
      t,
      leading(waitingFor('get')),
      answer('ok', mine),
      sent(t, { purpose: 'keep', lease: mine }),
      [notify({ kind: 'slowPath' }), sends(t, { purpose: 'keep', lease: mine })],
    ],
    [
      'a Lease without holder',
      t,
      leading(waitingFor('get')),
      answer('ok', free),
      { observed: { lease: free, atMs: 6000 }, ...sent(t, { purpose: 'take', lease: free }) },
      [sends(t, { purpose: 'take', lease: free })],
    ],
    [
      'a Lease whose spec was removed',
      t,
      leading(waitingFor('get')),
      answer('ok', bare),
      { observed: { lease: bare, atMs: 6000 }, ...sent(t, { purpose: 'take', lease: bare }) },
      [sends(t, { purpose: 'take', lease: bare })],
    ],
    [
      'no Lease',
      t,
      leading(waitingFor('get')),
      answer('missing'),
      sent(t, { purpose: 'create' }),
      [sends(t, { purpose: 'create' })],
    ],
    [
      'a read that fails',
      t,
      leading(waitingFor('get')),
      answer('failed'),
      { flight: undefined, wakeAtMs: 10_000 },
      [failed('get')],
    ],
    [
      'a read that fails shortly before the deadline',
      t,
      leading({ ...waitingFor('get'), round: { ...round, deadlineMs: 9000 } }),
      answer('failed'),
      { flight: undefined, wakeAtMs: 9000 },
      [failed('get')],
    ],
    [
      'a conflict',
      t,
      leading(waitingFor('keep')),
      answer('conflict'),
      { round: { ...round, conflicts: 1 }, ...sent(t, { purpose: 'get' }) },
      [failed('keep'), sends(t, { purpose: 'get' })],
    ],
    [
      'the tenth conflict of an attempt',
      t,
      leading({ ...waitingFor('keep'), round: { ...round, conflicts: 9 } }),
      answer('conflict'),
      { round: { ...round, conflicts: 10 }, ...sent(t, { purpose: 'get' }) },
      [failed('keep'), sends(t, { purpose: 'get' })],
    ],
    [
      'the eleventh conflict of an attempt',
      t,
      leading({ ...waitingFor('keep'), round: { ...round, conflicts: 10 } }),
      answer('conflict'),
      { flight: undefined, wakeAtMs: 10_000 },
      [failed('keep')],
    ],
    [
      'an update that fails',
      t,
      leading(waitingFor('keep')),
      answer('failed'),
      { flight: undefined, wakeAtMs: 10_000 },
      [failed('keep')],
    ],
    ['the last millisecond of the lease', turn(15_000), leading(), change({ kind: 'deleted' }), {}, []],
  ])(
    'given %s, then the next state and the effects are those of the table',
    (...[, at, state, input, changes, effects]) => {
      expect(step(at, state, input)).toStrictEqual({ state: { ...state, ...changes }, effects });
    },
  );

  it.each<[string, Turn, Leading, Input, readonly object[]]>([
    ['the deadline of the round', turn(15_000), leading({ round }), wake, lost('renewDeadline')],
    [
      'the deadline of the round during a request',
      turn(15_000),
      leading(waitingFor('renew')),
      wake,
      [{ kind: 'cancel' }, ...lost('renewDeadline')],
    ],
    ['a wake-up after the end of the lease', turn(15_000), leading(), wake, lost('stalled')],
    ['any input after the end of the lease', turn(15_001), leading(), stop, lost('stalled')],
    [
      'another holder',
      t,
      leading(waitingFor('get')),
      answer('ok', theirs),
      [notify({ kind: 'newLeader', identity: 'other' }), ...lost('otherHolder', theirs)],
    ],
    [
      'a renewal by another process of the same identity',
      t,
      leading(waitingFor('get')),
      answer('ok', leaseOf('me', { renewTime: 't9' })),
      lost('sameIdentity', leaseOf('me', { renewTime: 't9' })),
    ],
  ])('given %s, then the lease is lost and the work is cut off', (...[, at, state, input, effects]) => {
    expect(step(at, state, input)).toStrictEqual({ state: ended, effects });
  });

  it('given work that has ended, then the Lease is left to expire, and a request is cancelled', () => {
    const notified = notify({ kind: 'stoppedLeading', lease: mine, because: 'workEnded' });
    const state = { kind: 'ended', result: 'stopped' };
    expect(step(t, leading(), workEnded)).toStrictEqual({ state, effects: [notified] });
    const effects = [{ kind: 'cancel' }, notified];
    expect(step(t, leading(waitingFor('renew')), workEnded)).toStrictEqual({ state, effects });
  });

  it('given work that has ended and a Lease to release, then the Lease is read first', () => {
    const releasing = turn(6000, { config: { ...config, releaseOnExit: true } });
    expect(step(releasing, leading({ written: ['t0', 't1'] }), workEnded)).toStrictEqual({
      state: {
        kind: 'releasing',
        written: ['t0', 't1'],
        wakeAtMs: 16_000,
        flight: { purpose: 'get', sentAtMs: 6000 },
      },
      effects: [
        notify({ kind: 'stoppedLeading', lease: mine, because: 'workEnded' }),
        sends(releasing, { purpose: 'get' }),
      ],
    });
  });

  it('given more writes than are remembered, then the oldest is dropped', () => {
    const written = Array.from({ length: 64 }, (_, n) => `w${n}`);
    const { state } = step(turn(5000), leading({ written }), wake);
    const kept = (state as Leading).written;
    expect([kept.length, kept[0], kept.at(-1)]).toEqual([
      64,
      'w1',
      new Date(1e12 + 5000).toISOString().replace('Z', '000Z'),
    ]);
  });

  it('given a renewal, then new work may start until the renew deadline has passed', () => {
    expect([10_000, 10_001].map((nowMs) => mayStartWork({ config, nowMs }, leading()))).toEqual([true, false]);
  });
});

describe('a release', () => {
  const releasing = (purpose: 'get' | 'release'): Releasing => ({
    kind: 'releasing',
    written: ['t0'],
    wakeAtMs: 10_000,
    flight: { purpose, sentAtMs: 900 },
  });
  const t = turn(1000);
  const end = (result: string, ...effects: readonly object[]) => ({ state: { kind: 'ended', result }, effects });
  const notMine = notify({ kind: 'notReleased', because: 'notMine' });
  const goesOn = (of: Turn, attempt: Attempt, timeoutMs = 5000) => ({
    state: { ...releasing('get'), flight: { purpose: attempt.purpose, sentAtMs: of.nowMs } },
    effects: [sends(of, attempt, timeoutMs)],
  });

  it.each<[string, Turn, Releasing, Input, object]>([
    ['its own Lease', t, releasing('get'), answer('ok', mine), goesOn(t, { purpose: 'release', lease: mine })],
    [
      'its own Lease shortly before the deadline',
      turn(7000),
      releasing('get'),
      answer('ok', mine),
      goesOn(turn(7000), { purpose: 'release', lease: mine }, 3000),
    ],
    ['the Lease of another holder', t, releasing('get'), answer('ok', theirs), end('stopped', notMine)],
    [
      'a renewal by another process of the same identity',
      t,
      releasing('get'),
      answer('ok', leaseOf('me', { renewTime: 't9' })),
      end('stopped', notMine),
    ],
    ['no Lease', t, releasing('get'), answer('missing'), end('stopped', notMine)],
    ['a Lease that is missing at the release', t, releasing('release'), answer('missing'), end('stopped', notMine)],
    ['a Lease that is released', t, releasing('release'), answer('ok', free), end('released')],
    ['a conflict', t, releasing('release'), answer('conflict'), goesOn(t, { purpose: 'get' })],
    ['a conflict of a read', t, releasing('get'), answer('conflict'), end('stopped', failed('get'))],
    ['a release that fails', t, releasing('release'), answer('failed'), end('stopped', failed('release'))],
    [
      'the deadline',
      turn(10_000),
      releasing('release'),
      wake,
      end('stopped', { kind: 'cancel' }, notify({ kind: 'notReleased', because: 'tooLate' })),
    ],
    ['a stop', t, releasing('get'), stop, { state: releasing('get'), effects: [] }],
    ['the end of the work', t, releasing('get'), workEnded, { state: releasing('get'), effects: [] }],
    ['a change', t, releasing('get'), change({ kind: 'deleted' }), { state: releasing('get'), effects: [] }],
  ])('given %s, then the next state and the effects are those of the table', (...[, at, state, input, next]) => {
    expect(step(at, state, input)).toStrictEqual(next);
  });
});

it.each([wake, stop, workEnded, answer('ok'), change({ kind: 'deleted' })])(
  'given an election that has ended, when the input %o arrives, then nothing happens',
  (input) => {
    const state: ElectionState = { kind: 'ended', result: 'released' };
    expect(step(turn(1), state, input)).toStrictEqual({ state, effects: [] });
  },
);
