// SPDX-License-Identifier: Apache-2.0
/** The rows of both decision tables, with scripted answers. */
import type { Delivery } from '@csi-sidecars/runtime';
import { walkFlow } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { claimOf, foreignKind } from '../testing/builders.ts';
import { type Observed, validate } from './validation.ts';
import { patienceMs, warnUser } from './warning.ts';

const waiting = { isWaiting: true };
const looks: readonly (readonly [Observed, string])[] = [
  [{ verdict: undefined, isWaiting: false }, 'DV1'],
  [{ verdict: 'empty', ...waiting }, 'DV2'],
  [{ verdict: 'pvc', ...waiting }, 'DV3'],
  [{ verdict: 'snapshot', ...waiting }, 'DV4'],
  [{ verdict: 'populator', ...waiting }, 'DV5'],
  [{ verdict: 'invalid', ...waiting }, 'DV6'],
  [{ verdict: 'invalid', isWaiting: false }, 'DV7'],
];

it.each(looks)(
  '[data-source-validator#DV1] given a look at a claim that found %j, then row %s',
  async (observed, row) => {
    const { steps, conclusion } = await walkFlow(validate(observed), {});
    expect([steps, conclusion]).toEqual([[], { row, kind: 'conclude', outcome: { kind: 'done' } }]);
  },
);

const unknown = { claim: claimOf(foreignKind), source: foreignKind, ageMs: patienceMs };

it('[data-source-validator#DW1] given nothing to report any more, then nothing is written', async () => {
  const { steps, conclusion } = await walkFlow(warnUser({ unknown: undefined }), {});
  expect([steps, conclusion.row, conclusion.outcome]).toEqual([[], 'DW1', { kind: 'done' }]);
});

it('[data-source-validator#DW2] given a claim that was found a moment ago, then the rest of a second is waited for', async () => {
  const { steps, conclusion } = await walkFlow(warnUser({ unknown: { ...unknown, ageMs: 300 } }), {});
  expect([steps, conclusion.row, conclusion.outcome]).toEqual([[], 'DW2', { kind: 'requeueAfter', afterMs: 700 }]);
});

it.each<Delivery>(['written', 'filtered', 'refused'])(
  '[data-source-validator#DW3] given an event that was %s, then the claim is done',
  async (report) => {
    const { steps, conclusion } = await walkFlow(warnUser({ unknown }), { report });
    expect([steps, conclusion.row, conclusion.outcome]).toEqual([['DW3 report'], 'DW3', { kind: 'done' }]);
  },
);

it('[data-source-validator#DW4] given an event that was dropped, then the claim is tried again with backoff', async () => {
  const { steps, conclusion } = await walkFlow(warnUser({ unknown }), { report: 'dropped' });
  expect([steps, conclusion.row, conclusion.outcome.kind]).toEqual([['DW3 report'], 'DW4', 'retry']);
});
