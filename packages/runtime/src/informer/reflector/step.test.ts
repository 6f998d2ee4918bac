// SPDX-License-Identifier: Apache-2.0
/** Every transition of the reflector, with its demand and its effect. */
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../api/errors.ts';
import { TransportError } from '../../api/transport.ts';
import { DecodeError } from '../decode/decode-error.ts';
import type { Change } from '../decode/watch-event.ts';
import type { Input, Knowledge, Listing, Resumption, State, StepContext } from './state.ts';
import { demandOf, firstState, isVeryShort, step } from './step.ts';
import { oneMore } from './backoff.ts';

const nowMs = 1_000_000;
const context: StepContext = { nowMs, streaming: 'preferred', pageSize: undefined };
const off: StepContext = { ...context, streaming: 'off' };
const nothing: Knowledge = {
  lastRv: '',
  rvUnavailable: false,
  paginated: false,
  streamingRefusedAtMs: undefined,
  failures: 0,
  serverFaults: 0,
  burst: { sinceMs: 0, changes: 0 },
};
const known = (changes: Partial<Knowledge> = {}): Knowledge => ({ ...nothing, lastRv: '7', failures: 2, ...changes });

const apiError = (status: number, reason: string): ApiError => new ApiError({ status, reason, message: reason });
const errors = {
  busy: apiError(429, 'TooManyRequests'),
  expired: apiError(410, 'Expired'),
  gone: apiError(410, 'Gone'),
  unsupported: apiError(400, 'BadRequest'),
  serverFault: apiError(500, 'InternalError'),
  noAnswer: new TransportError('reset', 'reset'),
  other: new Error('other'),
};
type Refused = keyof typeof errors;
const kinds = Object.keys(errors) as readonly Refused[];

/** A pause of the backoff after two failures. */
const waiting = (then: Resumption, more: Knowledge = known()): State => ({
  kind: 'waiting',
  known: { ...more, failures: more.failures + 1 },
  pause: { minMs: 800 * 2 ** more.failures, spreadMs: 800 * 2 ** more.failures },
  then,
});
const listing = (of: Knowledge, page: Partial<Listing['page']>, more: Partial<Listing> = {}): State => ({
  kind: 'listing',
  known: of,
  listing: {
    page: { resourceVersion: '', limit: undefined, continue: undefined, ...page },
    requestedRv: page.resourceVersion ?? '',
    firstRv: undefined,
    ...more,
  },
});
const failed = (error: unknown): Input => ({ kind: 'failed', error });
const opened: Input = { kind: 'opened' };
const closed: Input = { kind: 'closed', cause: 'end' };
const changeOf = (type: Change['type'], resourceVersion?: string): Change => ({
  type,
  object: { metadata: resourceVersion === undefined ? {} : { resourceVersion } },
});
const event = (change: Change): Input => ({ kind: 'event', event: { kind: 'change', change } });
const bookmark = (resourceVersion: string, initialEventsEnd = false): Input => ({
  kind: 'event',
  event: { kind: 'bookmark', resourceVersion, initialEventsEnd },
});
const ended = (error: ApiError): Input => ({ kind: 'event', event: { kind: 'error', error } });
const foreign: Input = { kind: 'event', event: { kind: 'foreign', what: 'v1 Pod' } };
const undecodable: Input = {
  kind: 'event',
  event: { kind: 'undecodable', error: new DecodeError('no json', { bytes: 1 }) },
};

describe('the first state and demands', () => {
  it('given streaming that is preferred, then a cycle begins with a stream; otherwise with a list of what the server has', () => {
    expect(firstState(context)).toStrictEqual({ kind: 'openingStream', known: nothing });
    expect(firstState(off)).toStrictEqual(listing(nothing, { resourceVersion: '0', limit: 500 }));
  });

  it('given each state, then it demands its request, a pause, or the next event', () => {
    const open = { openedAtMs: 0, events: 0 };
    const page = { resourceVersion: '0', limit: 500, continue: undefined };
    const pause = { minMs: 1, spreadMs: 2 };
    const rows: ReadonlyArray<readonly [State, object]> = [
      [
        { kind: 'waiting', known: known(), pause, then: 'list' },
        { kind: 'wait', pause },
      ],
      [
        { kind: 'openingStream', known: known() },
        { kind: 'watch', resourceVersion: '7', initialEvents: 'wanted' },
      ],
      [
        { kind: 'openingStream', known: known({ rvUnavailable: true }) },
        { kind: 'watch', resourceVersion: '', initialEvents: 'wanted' },
      ],
      [listing(known(), page), { kind: 'list', page }],
      [
        { kind: 'openingWatch', known: known({ rvUnavailable: true }) },
        { kind: 'watch', resourceVersion: '7', initialEvents: 'none' },
      ],
      [{ kind: 'streaming', known: known(), ...open }, { kind: 'read' }],
      [{ kind: 'watching', known: known(), ...open, sinceMs: 0, ordered: true }, { kind: 'read' }],
    ];
    for (const [state, demand] of rows) expect(demandOf(state)).toStrictEqual(demand);
  });

  it.each<[Resumption, Knowledge, StepContext, State]>([
    ['stream', known(), off, { kind: 'openingStream', known: known() }],
    ['watch', known(), context, { kind: 'openingWatch', known: known() }],
    ['cycle', known(), context, { kind: 'openingStream', known: known() }],
    ['cycle', known(), off, listing(known(), { resourceVersion: '7' })],
    ['list', known(), context, listing(known(), { resourceVersion: '7' })],
    ['list', known({ rvUnavailable: true }), context, listing(known({ rvUnavailable: true }), { limit: 500 })],
    [
      'list',
      known({ paginated: true }),
      context,
      listing(known({ paginated: true }), { resourceVersion: '7', limit: 500 }),
    ],
    ['list', nothing, context, listing(nothing, { resourceVersion: '0', limit: 500 })],
    ['list', nothing, { ...context, firstList: 'current' }, listing(nothing, { limit: 500 })],
    ['list', known(), { ...context, firstList: 'current' }, listing(known(), { resourceVersion: '7' })],
    ['list', known(), { ...context, pageSize: 9 }, listing(known(), { resourceVersion: '7', limit: 9 })],
    ['list', nothing, { ...context, pageSize: 9 }, listing(nothing, { resourceVersion: '0', limit: 9 })],
  ])('given a pause before %s with %o, when it has passed, then the next state is its request', (...row) => {
    const [then, of, at, next] = row;
    const pause = { minMs: 1, spreadMs: 2 };
    expect(step({ kind: 'waiting', known: of, pause, then }, { kind: 'woke' }, at)).toStrictEqual({ state: next });
  });

  it.each([
    [0, 'openingStream'],
    [1, 'listing'],
  ])('given streaming was refused 30 minutes less %i ms ago, then a cycle begins with the state %s', (ms, kind) => {
    const refused = known({ streamingRefusedAtMs: nowMs - 30 * 60_000 + ms });
    const pause = { minMs: 1, spreadMs: 2 };
    const state: State = { kind: 'waiting', known: refused, pause, then: 'cycle' };
    expect(step(state, { kind: 'woke' }, context).state.kind).toBe(kind);
  });
});

describe('opening a stream', () => {
  const opening = (of = known()): State => ({ kind: 'openingStream', known: of });

  it('given it is open, then its events are read', () => {
    expect(step(opening(), opened, context)).toStrictEqual({
      state: { kind: 'streaming', known: known(), openedAtMs: nowMs, events: 0 },
    });
  });

  const list = listing(known(), { resourceVersion: '7' });
  const again: State = { kind: 'openingStream', known: known({ rvUnavailable: true }) };
  const without = known({ streamingRefusedAtMs: nowMs });
  const outcomes: Readonly<Record<Refused, State>> = {
    busy: waiting('stream'),
    expired: again,
    gone: again,
    unsupported: listing(without, { resourceVersion: '7' }),
    serverFault: list,
    noAnswer: list,
    other: list,
  };
  it.each(kinds)(
    'given it is refused (%s), when it was opened or as an event, then the next state is the same',
    (kind) => {
      expect(step(opening(), failed(errors[kind]), context)).toStrictEqual({ state: outcomes[kind] });
      const error = errors[kind];
      if (!(error instanceof ApiError)) return;
      const streaming: State = { kind: 'streaming', known: known(), openedAtMs: 5, events: 3 };
      expect(step(streaming, ended(error), context)).toStrictEqual({ state: outcomes[kind] });
    },
  );

  it.each(['expired', 'gone'] as const)(
    'given a request without a version is %s, then the collection is listed',
    (kind) => {
      const of = known({ rvUnavailable: true });
      expect(step(opening(of), failed(errors[kind]), context)).toStrictEqual({ state: listing(of, { limit: 500 }) });
      expect(step(opening(nothing), failed(errors[kind]), context)).toStrictEqual({
        state: listing(nothing, { resourceVersion: '0', limit: 500 }),
      });
    },
  );
});

describe('a stream of initial events', () => {
  const openedAtMs = nowMs - 5_000;
  const streaming = (changes: object = {}): State => ({
    kind: 'streaming',
    known: known({ rvUnavailable: true }),
    openedAtMs,
    events: 3,
    ...changes,
  });

  it('given a change, then it is collected; given a bookmark before the end, then it is counted only', () => {
    const change = changeOf('MODIFIED', '8');
    expect(step(streaming(), event(change), context)).toStrictEqual({
      state: streaming({ events: 4 }),
      effect: { kind: 'collect', change },
    });
    expect(step(streaming(), bookmark('8'), context)).toStrictEqual({ state: streaming({ events: 4 }) });
  });

  it('given the end of the initial events, then the collected content replaces the store, and the watch goes on', () => {
    expect(step(streaming(), bookmark('9', true), context)).toStrictEqual({
      state: { kind: 'watching', known: known({ lastRv: '9' }), openedAtMs, events: 4, sinceMs: nowMs, ordered: true },
      effect: { kind: 'replace', resourceVersion: '9' },
    });
  });

  it.each([
    ['a foreign object', foreign],
    ['an event that cannot be decoded', undecodable],
  ])('given %s, then the collection is listed', (_what, input) => {
    const of = known({ rvUnavailable: true });
    expect(step(streaming(), input, context)).toStrictEqual({ state: listing(of, { limit: 500 }) });
  });

  it.each([
    { given: 'after 59.999 s with events', ageMs: 59_999, events: 3, then: 'stream' },
    { given: 'after a minute', ageMs: 60_000, events: 3, then: 'list' },
    { given: 'within a second without an event', ageMs: 999, events: 0, then: 'list' },
    { given: 'within a second with an event', ageMs: 999, events: 1, then: 'stream' },
    { given: 'after a second without an event', ageMs: 1_000, events: 0, then: 'stream' },
  ] as const)('given it is closed $given, then after a pause it is tried again by $then', ({ ageMs, events, then }) => {
    const state: State = { kind: 'streaming', known: known(), openedAtMs: nowMs - ageMs, events };
    expect(step(state, closed, context)).toStrictEqual({ state: waiting(then) });
  });
});

describe('a list', () => {
  const page = (resourceVersion: string, next?: string): Input => ({ kind: 'page', resourceVersion, continue: next });

  it('given a page with a token, then the next page is asked for by the token alone, with the limit and the first version', () => {
    const first = listing(known(), { resourceVersion: '7', limit: 3 });
    const second = listing(known(), { limit: 3, continue: 'token' }, { requestedRv: '7', firstRv: '9' });
    expect(step(first, page('9', 'token'), context)).toStrictEqual({ state: second });
    const third = listing(known(), { limit: 3, continue: 'more' }, { requestedRv: '7', firstRv: '9' });
    expect(step(second, page('10', 'more'), context)).toStrictEqual({ state: third });
  });

  it.each<[string, State, string, Partial<Knowledge>]>([
    ['the only page', listing(known({ rvUnavailable: true }), { resourceVersion: '7' }), '9', {}],
    ['the last of several', listing(known(), { continue: 'token' }, { requestedRv: '7', firstRv: '8' }), '8', {}],
    [
      'the last of several, asked for with version 0',
      listing(known(), { continue: 'token' }, { requestedRv: '0', firstRv: '8' }),
      '8',
      { paginated: true },
    ],
    ['the only page, asked for with version 0', listing(known(), { resourceVersion: '0' }), '9', {}],
    ['a page of what was paginated before', listing(known({ paginated: true }), {}), '9', { paginated: true }],
  ])('given %s, then the content replaces the store, and a watch is opened from its version', (...row) => {
    const [, state, rv, more] = row;
    expect(step(state, page('9'), context)).toStrictEqual({
      state: { kind: 'openingWatch', known: known({ lastRv: rv, ...more }) },
      effect: { kind: 'replace', resourceVersion: rv },
    });
  });

  it('given a later page whose token has expired, then all is asked for in one piece, as of the version first asked for', () => {
    const state = listing(known(), { limit: 3, continue: 'token' }, { requestedRv: '7', firstRv: '9' });
    expect(step(state, failed(errors.expired), context)).toStrictEqual({
      state: listing(known(), { resourceVersion: '7' }),
    });
    expect(step(state, failed(errors.gone), context)).toStrictEqual({
      state: listing(known({ rvUnavailable: true }), { limit: 500 }),
    });
  });

  it.each(kinds)(
    'given a first page that is refused (%s), then it is asked for without a version, or a pause comes before a new cycle',
    (kind) => {
      const relaxed = kind === 'expired' || kind === 'gone';
      const state = listing(known(), { resourceVersion: '7' });
      expect(step(state, failed(errors[kind]), context)).toStrictEqual({
        state: relaxed ? listing(known({ rvUnavailable: true }), { limit: 500 }) : waiting('cycle'),
      });
      const bare = listing(known({ rvUnavailable: true }), { limit: 500 });
      expect(step(bare, failed(errors[kind]), context)).toStrictEqual({
        state: waiting('cycle', known({ rvUnavailable: true })),
      });
    },
  );
});

describe('opening a watch', () => {
  const opening = (of = known()): State => ({ kind: 'openingWatch', known: of });

  it.each([
    ['7', true],
    ['0', false],
    ['', false],
  ])('given it is open from version "%s", then its events are in order: %s', (lastRv, ordered) => {
    expect(step(opening(known({ lastRv })), opened, context)).toStrictEqual({
      state: { kind: 'watching', known: known({ lastRv }), openedAtMs: nowMs, sinceMs: nowMs, events: 0, ordered },
    });
  });

  it.each(kinds)(
    'given it is refused (%s), then a pause comes before the same watch, or before a new cycle',
    (kind) => {
      const faulty = known({ serverFaults: 1 });
      const next =
        kind === 'serverFault'
          ? waiting('watch', faulty)
          : waiting(kind === 'busy' || kind === 'noAnswer' ? 'watch' : 'cycle');
      expect(step(opening(), failed(errors[kind]), context)).toStrictEqual({ state: next });
    },
  );

  it('given a fourth internal error in a row, then a new cycle begins, and the errors are counted from zero', () => {
    const at = (serverFaults: number): State =>
      step(opening(known({ serverFaults })), failed(errors.serverFault), context).state;
    expect([at(2), at(3)]).toStrictEqual([
      waiting('watch', known({ serverFaults: 3 })),
      waiting('cycle', known({ serverFaults: 0 })),
    ]);
  });
});

describe('a watch', () => {
  const openedAtMs = nowMs - 5_000;
  const watching = (changes: object = {}, of = known()): State => ({
    kind: 'watching',
    known: of,
    openedAtMs,
    sinceMs: openedAtMs,
    events: 3,
    ordered: true,
    ...changes,
  });

  it.each<[Change['type'], boolean, string | undefined, string, boolean]>([
    ['ADDED', true, '8', '8', true],
    ['ADDED', false, '8', '7', false],
    ['MODIFIED', false, '8', '8', true],
    ['DELETED', true, undefined, '7', true],
  ])('given %s while the order is %s, with version %s, then it is applied, and the known version is %s', (...row) => {
    const [type, before, rv, lastRv, ordered] = row;
    const change = changeOf(type, rv);
    expect(step(watching({ ordered: before }), event(change), context)).toStrictEqual({
      state: watching({ events: 4, ordered }, known({ lastRv, burst: { sinceMs: nowMs, changes: 1 } })),
      effect: { kind: 'apply', change },
    });
  });

  it('given a bookmark, then its version is known and passed on, and events are in order from then on', () => {
    expect(step(watching({ ordered: false }), bookmark('8'), context)).toStrictEqual({
      state: watching({ events: 4 }, known({ lastRv: '8' })),
      effect: { kind: 'bookmark', resourceVersion: '8' },
    });
  });

  it('given a bookmark without a version, then the known version stays, or the next watch would begin anywhere', () => {
    expect(step(watching(), bookmark(''), context)).toStrictEqual({
      state: watching({ events: 4 }),
      effect: { kind: 'bookmark', resourceVersion: '' },
    });
  });

  it('given a foreign object, then it is only counted', () => {
    expect(step(watching(), foreign, context)).toStrictEqual({ state: watching({ events: 4 }) });
  });

  it.each(kinds.filter((kind) => errors[kind] instanceof ApiError))(
    'given an error event (%s), then a pause comes before the same watch, or before a new cycle',
    (kind) => {
      const next =
        kind === 'serverFault'
          ? waiting('watch', known({ serverFaults: 1 }))
          : waiting(kind === 'busy' ? 'watch' : 'cycle');
      expect(step(watching(), ended(errors[kind] as ApiError), context)).toStrictEqual({ state: next });
    },
  );

  it('given an event that cannot be decoded, then a pause comes before a new cycle', () => {
    expect(step(watching(), undecodable, context)).toStrictEqual({ state: waiting('cycle') });
  });

  it.each([
    { given: 'a synced watch of 59.999 s', livedMs: 59_999, failures: 2, serverFaults: 1 },
    { given: 'a synced watch of a minute', livedMs: 60_000, failures: 0, serverFaults: 0 },
  ])(
    'given $given, when it ends in any way, then $failures failures are remembered',
    ({ livedMs, failures, serverFaults }) => {
      const state = watching({ openedAtMs: 0, sinceMs: nowMs - livedMs }, known({ serverFaults: 1 }));
      const of = known({ failures, serverFaults });
      expect(step(state, ended(errors.expired), context)).toStrictEqual({ state: waiting('cycle', of) });
      expect(step(state, undecodable, context)).toStrictEqual({ state: waiting('cycle', of) });
      expect(step(state, closed, context)).toStrictEqual({
        state: { kind: 'waiting', known: of, pause: { minMs: 0, spreadMs: 1_000 }, then: 'watch' },
      });
    },
  );

  it('given it is closed early, then it is opened again a second after it was opened; without an event, a new cycle begins', () => {
    const at = (changes: object): State =>
      step(watching({ openedAtMs: nowMs - 400, ...changes }), closed, context).state;
    const soon = { kind: 'waiting', known: known(), pause: { minMs: 600, spreadMs: 1_000 }, then: 'watch' };
    expect([at({ events: 1 }), at({ events: 0 })]).toStrictEqual([soon, waiting('cycle')]);
  });

  it.each([
    { changes: 49, agoMs: 0, cause: 'end', then: 'waiting' },
    { changes: 50, agoMs: 0, cause: 'end', then: 'openingWatch' },
    { changes: 50, agoMs: 1_999, cause: 'end', then: 'openingWatch' },
    { changes: 50, agoMs: 2_000, cause: 'end', then: 'waiting' },
    { changes: 50, agoMs: 0, cause: 'broken', then: 'waiting' },
    { changes: 50, agoMs: 0, cause: 'silent', then: 'waiting' },
  ] as const)(
    'given $changes changes since $agoMs ms, when the watch is closed ($cause), then the next state is $then',
    ({ changes, agoMs, cause, then }) => {
      const of = known({ burst: { sinceMs: nowMs - agoMs, changes } });
      const { state } = step(watching({}, of), { kind: 'closed', cause }, context);
      expect(state.kind).toBe(then);
      if (state.kind === 'openingWatch') expect(state.known).toStrictEqual(of);
    },
  );

  it('given a watch that is closed in a burst without a change of its own, then a new cycle begins after a pause', () => {
    const of = known({ burst: { sinceMs: nowMs, changes: 1_000 } });
    const { state } = step(watching({ openedAtMs: nowMs, events: 0 }, of), closed, context);
    expect(state).toStrictEqual(waiting('cycle', of));
  });

  it('given changes in one second after the other, then those of the second before count half, and older ones not', () => {
    const after = (agoMs: number): unknown => oneMore({ sinceMs: nowMs - agoMs, changes: 100 }, nowMs);
    expect([999, 1_000, 1_999, 2_000].map(after)).toEqual([
      { sinceMs: nowMs - 999, changes: 101 },
      { sinceMs: nowMs, changes: 51 },
      { sinceMs: nowMs, changes: 51 },
      { sinceMs: nowMs, changes: 1 },
    ]);
  });

  it('given a watch without an event, then it is very short within a second', () => {
    const at = (openedMs: number, events: number): boolean =>
      isVeryShort({ openedAtMs: nowMs - openedMs, events }, { nowMs });
    expect([at(999, 0), at(1_000, 0), at(0, 1)]).toEqual([true, false, false]);
  });
});

it.each<[State, Input]>([
  [{ kind: 'openingStream', known: nothing }, closed],
  [{ kind: 'streaming', known: nothing, openedAtMs: 0, events: 0 }, opened],
  [listing(nothing, {}), opened],
  [{ kind: 'openingWatch', known: nothing }, closed],
  [{ kind: 'watching', known: nothing, openedAtMs: 0, sinceMs: 0, events: 0, ordered: true }, opened],
])('given the state %o and an input that it cannot have, then the defect is named', (state, input) => {
  expect(() => step(state, input, context)).toThrow(`reflector: ${input.kind} while ${state.kind}`);
});
