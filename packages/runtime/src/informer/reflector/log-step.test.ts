// SPDX-License-Identifier: Apache-2.0
/** The log line of each step of the reflector: what happened, and how serious it is. */
import { expect, it } from 'vitest';
import { recordingLogger } from '../../../testing/index.ts';
import { ApiError } from '../../api/errors.ts';
import { TransportError } from '../../api/transport.ts';
import { DecodeError } from '../decode/decode-error.ts';
import { logStep } from './log-step.ts';
import type { CloseCause, Input, Knowledge, State, Step } from './state.ts';
import { firstState } from './step.ts';

const { known: nothingKnown } = firstState({ nowMs: 0, streaming: 'off', pageSize: undefined });
const known: Knowledge = { ...nothingKnown, lastRv: '7' };
const page = { resourceVersion: '', limit: undefined, continue: undefined };
const pause = { minMs: 1, spreadMs: 1 };
const states = {
  openingStream: { kind: 'openingStream', known },
  streaming: { kind: 'streaming', known, openedAtMs: 1_000.4, events: 3 },
  listing: { kind: 'listing', known, listing: { page, requestedRv: '', firstRv: undefined } },
  openingWatch: { kind: 'openingWatch', known },
  watching: { kind: 'watching', known, openedAtMs: 1_000.4, sinceMs: 0, events: 3, ordered: true },
  waitingForCycle: { kind: 'waiting', known, pause, then: 'cycle' },
  waitingForWatch: { kind: 'waiting', known, pause, then: 'watch' },
  listingUnsupported: {
    kind: 'listing',
    known: { ...known, streamingRefusedAtMs: 5 },
    listing: { page, requestedRv: '', firstRv: undefined },
  },
} as const satisfies Readonly<Record<string, State>>;
type Name = keyof typeof states;

const apiError = (status: number, reason: string): ApiError => new ApiError({ status, reason, message: reason });
const busy = apiError(429, 'TooManyRequests');
const expired = apiError(410, 'Expired');
const gone = apiError(410, 'Gone');
const missing = apiError(404, 'NotFound');
const forbidden = apiError(403, 'Forbidden');
const fault = apiError(500, 'InternalError');
const broken = new TransportError('reset', 'reset');
const undecodable = new DecodeError('no json', { bytes: 12 });

interface Logged {
  readonly from: Name;
  readonly input: Input;
  readonly to: Name;
  readonly effect?: Step['effect'];
}

function lines({ from, input, to, effect }: Logged): readonly unknown[] {
  const logger = recordingLogger();
  const next: Step = effect === undefined ? { state: states[to] } : { state: states[to], effect };
  logStep(logger, { from: states[from], input, to: next, nowMs: 3_001 });
  return logger.lines.map(({ kind, message, facts, ...rest }) => [
    'level' in rest ? rest.level : kind,
    message,
    { ...('error' in rest && rest.error !== undefined ? { logged: rest.error } : {}), ...facts },
  ]);
}

const failed = (error: unknown): Input => ({ kind: 'failed', error });
const error = (of: ApiError): Input => ({ kind: 'event', event: { kind: 'error', error: of } });

it.each<[string, Name, Input, Name, readonly unknown[]]>([
  [
    'a list that is asked for again',
    'listing',
    failed(expired),
    'listing',
    [4, 'Listing again', { refusal: 'expired', error: expired }],
  ],
  ['a list that failed', 'listing', failed(fault), 'waitingForCycle', ['error', 'Failed to list', { logged: fault }]],
  [
    'a list of a kind that is not defined',
    'listing',
    failed(missing),
    'waitingForCycle',
    ['error', 'Failed to list', { logged: missing, hint: 'is the definition of this kind installed?' }],
  ],
  [
    'a list without the right',
    'listing',
    failed(forbidden),
    'waitingForCycle',
    ['error', 'Failed to list', { logged: forbidden, hint: 'the role of this account needs list and watch' }],
  ],
  [
    'a stream that is tried again',
    'openingStream',
    failed(busy),
    'waitingForWatch',
    [4, 'Streaming list will be tried again', { error: busy }],
  ],
  ['a stream that failed', 'openingStream', failed(fault), 'listing', [4, 'Falling back to list', { error: fault }]],
  [
    'a stream that the server does not know',
    'openingStream',
    failed(fault),
    'listingUnsupported',
    [2, 'The server does not support streaming lists, falling back to list', { error: fault }],
  ],
  [
    'a busy server',
    'openingWatch',
    failed(busy),
    'waitingForWatch',
    [2, 'Watch could not be opened', { refusal: 'busy', error: busy }],
  ],
  [
    'no answer',
    'openingWatch',
    failed(broken),
    'waitingForWatch',
    [2, 'Watch could not be opened', { refusal: 'noAnswer', error: broken }],
  ],
  [
    'an expired version',
    'openingWatch',
    failed(expired),
    'waitingForCycle',
    [4, 'Watch closed: too old resource version', { error: expired }],
  ],
  [
    'a version that is gone',
    'openingWatch',
    failed(gone),
    'waitingForCycle',
    [4, 'Watch closed: too old resource version', { error: gone }],
  ],
  [
    'any other failure',
    'openingWatch',
    failed(fault),
    'waitingForWatch',
    ['error', 'Failed to watch', { logged: fault }],
  ],
  [
    'a foreign object',
    'watching',
    { kind: 'event', event: { kind: 'foreign', what: 'v1 Pod' } },
    'watching',
    ['error', 'Unexpected object in the watch stream, skipped', { what: 'v1 Pod' }],
  ],
  [
    'an event that cannot be decoded',
    'watching',
    { kind: 'event', event: { kind: 'undecodable', error: undecodable } },
    'waitingForCycle',
    ['error', 'watch ended with error', { logged: undecodable, bytes: 12 }],
  ],
  ['an error in a stream', 'streaming', error(fault), 'listing', [4, 'Falling back to list', { error: fault }]],
  [
    'a watch that has expired',
    'watching',
    error(expired),
    'waitingForCycle',
    [4, 'Watch closed: too old resource version', { error: expired }],
  ],
  [
    'a watch whose version is gone',
    'watching',
    error(gone),
    'waitingForCycle',
    [4, 'Watch closed: too old resource version', { error: gone }],
  ],
  [
    'a watch of a busy server',
    'watching',
    error(busy),
    'waitingForWatch',
    [2, 'Watch closed: the server is busy', { error: busy }],
  ],
  [
    'a watch that ends with a fault',
    'watching',
    error(fault),
    'waitingForWatch',
    ['warn', 'watch ended with error', { error: fault }],
  ],
])('given %s, then its line says so', (...row) => {
  const [, from, input, to, line] = row;
  expect(lines({ from, input, to })).toEqual([line]);
});

const facts = (cause: CloseCause) => ({ cause, events: 3, livedMs: 2_001 });
it.each<[Name, CloseCause, Name, readonly unknown[]]>([
  [
    'streaming',
    'end',
    'waitingForCycle',
    ['warn', 'Streaming list closed before the end of the initial events', facts('end')],
  ],
  ['watching', 'end', 'waitingForCycle', ['warn', 'Very short watch', facts('end')]],
  ['watching', 'truncated', 'waitingForWatch', [1, 'Watch closed with unexpected EOF', facts('truncated')]],
  ['watching', 'overdue', 'waitingForWatch', [2, 'Watch given up', facts('overdue')]],
  ['watching', 'silent', 'waitingForWatch', [2, 'Watch given up', facts('silent')]],
  ['watching', 'broken', 'waitingForWatch', [5, 'Watch connection broken', { ...facts('broken'), error: broken }]],
  ['watching', 'end', 'waitingForWatch', [4, 'Watch closed', facts('end')]],
])('given the state %s and a stream that closes (%s) before %s, then its line says so', (...row) => {
  const [from, cause, to, line] = row;
  expect(lines({ from, input: { kind: 'closed', cause, error: broken }, to })).toEqual([line]);
});

it('given new content, then its version is logged', () => {
  const input: Input = { kind: 'page', resourceVersion: '9', continue: undefined };
  expect(
    lines({ from: 'listing', input, to: 'openingWatch', effect: { kind: 'replace', resourceVersion: '9' } }),
  ).toEqual([[2, 'Caches populated', { resourceVersion: '9' }]]);
});

it('given what happens all the time, then nothing is logged', () => {
  const change = { type: 'ADDED', object: { metadata: {} } } as const;
  const inputs: ReadonlyArray<readonly [Name, Input, Name, Step['effect']?]> = [
    ['waitingForWatch', { kind: 'woke' }, 'openingWatch'],
    ['openingWatch', { kind: 'opened' }, 'watching'],
    ['listing', { kind: 'page', resourceVersion: '9', continue: 'token' }, 'listing'],
    ['watching', { kind: 'event', event: { kind: 'change', change } }, 'watching', { kind: 'apply', change }],
    [
      'watching',
      { kind: 'event', event: { kind: 'bookmark', resourceVersion: '9', initialEventsEnd: false } },
      'watching',
    ],
    ['openingWatch', { kind: 'closed', cause: 'end' }, 'waitingForCycle'],
  ];
  for (const [from, input, to, effect] of inputs) {
    expect(lines({ from, input, to, ...(effect === undefined ? {} : { effect }) })).toEqual([]);
  }
});
