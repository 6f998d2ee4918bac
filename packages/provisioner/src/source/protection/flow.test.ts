// SPDX-License-Identifier: Apache-2.0
/** One line for each way through the source loops: what a run sees, how its steps are answered, its steps, and how it ends. */
import { ApiError } from '@csi-sidecars/runtime';
import { type Answers, walkFlow } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aDyingClaim, aSnapshot } from '../../../testing/source-builders.ts';
import { type Conclusion, letGo } from './flow.ts';
import type { Observed } from './steps.ts';
import type { Need } from './need.ts';

const none: Need = { kind: 'none' };
const always: Need = { kind: 'always', claim: 'restored' };
const weak: Need = { kind: 'unlessDeleted', claim: 'restored' };
const [live, dying] = [aSnapshot(), aSnapshot({ deleting: 'yes' })];
const { status: _, ...withoutContent } = live;
const failure = new Error('no connection');
const forbidden = apiError(403, 'Forbidden');
const conflict = apiError(409, 'Conflict');
/** By an earlier program. */
const found: Partial<Observed> = { origin: 'found' };
const clone: Partial<Observed> = {
  source: { kind: 'claim', namespace: 'team', name: 'original' },
  cached: aDyingClaim(),
  origin: 'found',
};

function apiError(status: number, reason: string): Error {
  return new ApiError({ status, reason, message: reason, verb: 'update', path: '/' } as never);
}

interface Row {
  readonly given: string;
  readonly seen?: Partial<Observed>;
  /** What the run finds when it looks again. Default: as it was; undefined: nothing. */
  readonly now?: Partial<Observed> | undefined;
  readonly answers?: Answers;
  /** Its steps, without the look. */
  readonly steps: string;
  readonly ends: string;
}

function show({ row, kind, outcome, refused }: Conclusion): string {
  expect(kind).toBe('conclude');
  const reason = outcome.kind === 'postpone' ? `: ${outcome.reason}` : '';
  return `${row} ${outcome.kind}${reason}${refused === undefined ? '' : ', refused'}`;
}

const cloning = "postpone: PVC 'restored' is in 'Pending' state, cloning in progress";
const [read, proven] = ['N2 readSource', 'N2 readSource, N6 isOfOurDriver, N7 needNow'];

const rows: readonly Row[] = [
  { given: 'a claim of this process holds it', seen: { references: 1 }, steps: '', ends: 'N1 done' },
  { given: 'a claim needs it', seen: { need: always }, steps: '', ends: 'N1 done' },
  { given: 'a claim needs it since it was read', now: { need: always }, steps: read, ends: 'N1 done' },
  { given: 'a claim holds it since it was read', now: { references: 1 }, steps: read, ends: 'N1 done' },
  { given: 'only a failed claim needs it since it was read', now: { need: weak }, steps: read, ends: 'N5 done' },
  {
    given: 'a claim took it before the removal',
    answers: { release: 'held' },
    steps: `${read}, N9 release`,
    ends: 'N1 done',
  },
  { given: 'a clone is pending', seen: { ...clone, need: always }, steps: '', ends: `N1 ${cloning}` },
  {
    given: 'a clone is under way',
    seen: { ...clone, references: 1 },
    steps: '',
    ends: 'N1 postpone: a volume is being made from claim team/original',
  },
  {
    given: 'it was read before and is of another driver',
    seen: { ...found, isForeign: true },
    steps: '',
    ends: 'N13 done',
  },
  {
    given: 'only a failed claim names it, and the cache has it alive',
    seen: { need: weak, cached: live },
    steps: '',
    ends: 'N5 done',
  },
  { given: 'only a failed claim names it, and it is alive', seen: { need: weak }, steps: read, ends: 'N5 done' },
  {
    given: 'only a failed claim names it, and it is being deleted',
    seen: { need: weak, cached: dying },
    answers: { readSource: dying },
    steps: `${read}, N9 release`,
    ends: 'N9 done',
  },
  {
    given: 'it was found alive, and only a failed claim names it',
    seen: { ...found, need: weak },
    steps: read,
    ends: 'N5 done',
  },
  { given: 'it is gone', answers: { readSource: undefined }, steps: read, ends: 'N3 done' },
  {
    given: 'it has no finalizer of ours',
    answers: { readSource: aSnapshot({ finalizers: ['x'] }) },
    steps: read,
    ends: 'N3 done',
  },
  { given: 'it may not be read', answers: { readSource: forbidden }, steps: read, ends: 'N11 done, refused' },
  { given: 'it cannot be read', answers: { readSource: failure }, steps: read, ends: 'N12 retry' },
  {
    given: 'a claim is not being deleted any more',
    seen: clone,
    answers: { readSource: { metadata: { finalizers: aDyingClaim().metadata?.finalizers ?? [] } } },
    steps: read,
    ends: 'N4 done',
  },
  {
    given: 'it was found, and is of another driver',
    seen: found,
    answers: { isOfOurDriver: false },
    steps: `${read}, N6 isOfOurDriver`,
    ends: 'N6 done',
  },
  {
    given: 'it was found, and its content cannot be read',
    seen: found,
    answers: { isOfOurDriver: failure },
    steps: `${read}, N6 isOfOurDriver`,
    ends: 'N12 retry',
  },
  {
    given: 'it was found, and has no content',
    seen: found,
    answers: { readSource: withoutContent },
    steps: `${read}, N7 needNow, N9 release`,
    ends: 'N9 done',
  },
  { given: 'it was found, and no claim needs it', seen: found, steps: `${proven}, N9 release`, ends: 'N9 done' },
  {
    given: 'it was found, and the live list has a failed claim',
    seen: found,
    answers: { needNow: weak },
    steps: proven,
    ends: 'N5 done',
  },
  {
    given: 'it was found, is being deleted, and only failed claims name it',
    seen: { ...found, need: weak },
    answers: { readSource: dying, needNow: weak },
    steps: `${proven}, N9 release`,
    ends: 'N9 done',
  },
  {
    given: 'it was found, and the live list has a claim that the cache lacks',
    seen: found,
    answers: { needNow: always },
    steps: proven,
    ends: "N8 postpone: PVC 'restored' is in 'Pending' state, restore of snapshot team/daily in progress",
  },
  {
    given: 'it was found, and claims cannot be listed',
    seen: found,
    answers: { needNow: failure },
    steps: proven,
    ends: 'N12 retry',
  },
  {
    given: 'it is ours, one of many instances',
    seen: { instances: 'many' },
    steps: `${read}, N7 needNow, N9 release`,
    ends: 'N9 done',
  },
  {
    given: 'the live list has a clone that the cache lacks',
    seen: clone,
    answers: { readSource: aDyingClaim(), needNow: always },
    steps: `${read}, N7 needNow`,
    ends: `N8 ${cloning}`,
  },
  {
    given: 'a claim is without pending clones, and gone from the cache',
    seen: clone,
    now: undefined,
    answers: { readSource: aDyingClaim() },
    steps: `${read}, N7 needNow, N9 release`,
    ends: 'N9 done',
  },
  {
    given: 'a claim of this process held it, and none needs it',
    steps: `${read}, N9 release`,
    ends: 'N9 done',
  },
  {
    given: 'another writer was faster three times',
    seen: { conflicts: 2 },
    answers: { release: conflict },
    steps: `${read}, N9 release`,
    ends: 'N10 requeueAfter',
  },
  {
    given: 'another writer was faster a fourth time',
    seen: { conflicts: 3 },
    answers: { release: conflict },
    steps: `${read}, N9 release`,
    ends: 'N10 postpone: Conflict',
  },
  {
    given: 'it may not be written',
    answers: { release: forbidden },
    steps: `${read}, N9 release`,
    ends: 'N11 done, refused',
  },
  { given: 'it cannot be written', answers: { release: failure }, steps: `${read}, N9 release`, ends: 'N12 retry' },
];

it.each(rows)('given $given, then its steps are "$steps", and it ends as $ends', async (line) => {
  const observed: Observed = {
    source: { kind: 'snapshot', namespace: 'team', name: 'daily' },
    references: 0,
    need: none,
    cached: undefined,
    origin: 'ours',
    isForeign: false,
    conflicts: 0,
    instances: 'one',
    ...line.seen,
  };
  const { steps, conclusion } = await walkFlow(letGo(observed), {
    readSource: live,
    isOfOurDriver: true,
    needNow: none,
    look: 'now' in line ? line.now && { ...observed, ...line.now } : observed,
    release: 'done',
    ...line.answers,
  });
  expect([steps.filter((step) => step !== 'N9 look').join(', '), show(conclusion)]).toEqual([line.steps, line.ends]);
});
