// SPDX-License-Identifier: Apache-2.0
/** The table of the source loops, row by row. */
import { ApiError } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aDyingClaim, aSnapshot } from '../../testing/source-builders.ts';
import { decide } from './decide.ts';
import type { Need } from './need.ts';
import { type Action, nothingLearned, type SourceState } from './state.ts';

const none: Need = { kind: 'none' };
const always: Need = { kind: 'always', claim: 'restored' };
const weak: Need = { kind: 'unlessDeleted', claim: 'restored' };
const [live, dying] = [aSnapshot(), aSnapshot({ deleting: 'yes' })];
const read = { live: { object: live } };
/** Left by an earlier program, on a snapshot of our driver. */
const found = { origin: 'found', owner: 'us' } as const;
const readDying = { live: { object: dying } };
const failure = new Error('no connection');
const forbidden = apiError(403, 'Forbidden');
const conflict = apiError(409, 'Conflict');

function apiError(status: number, reason: string): Error {
  return new ApiError({ status, reason, message: reason, verb: 'update', path: '/' } as never);
}

function snapshot(facts: Partial<SourceState> = {}): SourceState {
  return {
    source: { kind: 'snapshot', namespace: 'team', name: 'daily' },
    holders: 0,
    need: none,
    cached: undefined,
    origin: 'ours',
    conflicts: 0,
    instances: 'one',
    ...nothingLearned,
    ...facts,
  };
}

function claim(facts: Partial<SourceState> = {}): SourceState {
  return snapshot({
    source: { kind: 'claim', namespace: 'team', name: 'original' },
    cached: aDyingClaim(),
    ...facts,
  });
}
const readClaim = { live: { object: aDyingClaim() } };
const cloning = "postpone: PVC 'restored' is in 'Pending' state, cloning in progress";

function show(action: Action): string {
  if (action.kind !== 'conclude') return action.kind;
  const { outcome, refused } = action;
  const reason = outcome.kind === 'postpone' ? `: ${outcome.reason}` : '';
  return `${outcome.kind}${reason}${refused === undefined ? '' : ', refused'}`;
}

const table: readonly (readonly [string, string, SourceState, string])[] = [
  ['N1', 'a claim of this process holds it', snapshot({ holders: 1 }), 'done'],
  ['N1', 'a claim needs it', snapshot({ need: always }), 'done'],
  ['N1', 'a claim needs it since it was read', snapshot({ need: always, ...read, proof: none }), 'done'],
  ['N1', 'a claim took it before the removal', snapshot({ ...read, proof: none, release: 'held' }), 'done'],
  ['N1', 'a clone is pending', claim({ need: always }), cloning],
  ['N1', 'a clone is under way', claim({ holders: 1 }), 'postpone: a volume is being made from claim team/original'],
  ['N2', 'no claim needs it', snapshot(), 'readSource'],
  ['N2', 'only a failed claim names it, and nothing is cached', snapshot({ need: weak }), 'readSource'],
  [
    'N2',
    'only a failed claim names it, and it is being deleted',
    snapshot({ need: weak, cached: dying }),
    'readSource',
  ],
  [
    'N9',
    'held by this process, only a failed claim names it, being deleted',
    snapshot({ need: weak, ...readDying }),
    'release',
  ],
  ['N3', 'it is gone', snapshot({ live: 'gone' }), 'done'],
  ['N3', 'without our finalizer', snapshot({ live: { object: aSnapshot({ finalizers: ['x'] }) } }), 'done'],
  [
    'N4',
    'a claim that is not being deleted',
    claim({ live: { object: { metadata: { finalizers: aDyingClaim().metadata?.finalizers ?? [] } } } }),
    'done',
  ],
  ['N5', 'only a failed claim names it, and the cache has it alive', snapshot({ need: weak, cached: live }), 'done'],
  ['N5', 'only a failed claim names it, and it is alive', snapshot({ need: weak, ...read }), 'done'],
  ['N5', 'the live list has a failed claim', snapshot({ ...found, ...read, proof: weak }), 'done'],
  ['N7', 'ours, one of many instances', snapshot({ instances: 'many', ...read }), 'listClaims'],
  ['N6', 'found on a snapshot with a content', snapshot({ origin: 'found', ...read }), 'readOwner'],
  ['N6', 'found, of another driver', snapshot({ origin: 'found', ...read, owner: 'other' }), 'done'],
  ['N7', 'found, of our driver', snapshot({ ...found, ...read }), 'listClaims'],
  ['N7', 'found on a claim', claim({ origin: 'found', ...readClaim }), 'listClaims'],
  [
    'N7',
    'only a failed claim names it, and it is being deleted',
    snapshot({ ...found, need: weak, ...readDying }),
    'listClaims',
  ],
  [
    'N8',
    'the live list has a claim that the cache lacks',
    snapshot({ ...found, ...read, proof: always }),
    "postpone: PVC 'restored' is in 'Pending' state, restore of snapshot team/daily in progress",
  ],
  ['N8', 'the live list has a clone that the cache lacks', claim({ ...readClaim, proof: always }), cloning],
  ['N9', 'a claim of this process held it, and none needs it', snapshot(read), 'release'],
  ['N9', 'found, and no claim needs it', snapshot({ ...found, ...read, proof: none }), 'release'],
  [
    'N9',
    'only failed claims name it, and it is being deleted',
    snapshot({ ...found, ...readDying, need: weak, proof: weak }),
    'release',
  ],
  ['N9', 'a claim without pending clones', claim({ ...readClaim, proof: none }), 'release'],
  ['N9', 'removed', snapshot({ ...read, proof: none, release: 'done' }), 'done'],
  [
    'N10',
    'another writer was faster three times',
    snapshot({ ...read, release: { failure: conflict }, conflicts: 2 }),
    'requeueAfter',
  ],
  [
    'N10',
    'another writer was faster a fourth time',
    snapshot({ ...read, release: { failure: conflict }, conflicts: 3 }),
    'postpone: Conflict',
  ],
  ['N11', 'it may not be read', snapshot({ live: { failure: forbidden } }), 'done, refused'],
  ['N11', 'it may not be written', snapshot({ ...read, release: { failure: forbidden } }), 'done, refused'],
  ['N13', 'it was read before and is of another driver', snapshot({ origin: 'found', owner: 'other' }), 'done'],
  ['N12', 'it cannot be read', snapshot({ live: { failure } }), 'retry'],
  ['N12', 'its content cannot be read', snapshot({ origin: 'found', ...read, owner: { failure } }), 'retry'],
  ['N12', 'claims cannot be listed', snapshot({ ...found, ...read, proof: { failure } }), 'retry'],
  ['N12', 'it cannot be written', snapshot({ ...read, release: { failure } }), 'retry'],
];

describe('the table of the source loops', () => {
  it.each(table.map(([row, given, state, next]) => ({ row, given, state, next })))('[$row] given $given', (line) => {
    const { row, state, next } = line;
    const action = decide(state);
    expect([action.row, show(action)]).toEqual([row, next]);
  });
});

it('given a snapshot without a content, then no driver is looked up before the claims are listed', () => {
  const { status: _, ...bare } = live;
  expect(decide(snapshot({ origin: 'found', live: { object: bare } })).row).toBe('N7');
});
