// SPDX-License-Identifier: Apache-2.0
/** One line for each row: what is observed and what the steps answer, and the rows that follow. */
import { walkFlow } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aClaim, storedDegraded } from '../../testing/builders.ts';
import type { Hold } from '../memory.ts';
import type { HealthChange } from '../report/change.ts';
import { type Observed, showHealth } from './flow.ts';

const claim = aClaim();
const set: HealthChange = { kind: 'set', conditions: storedDegraded, since: undefined, isMessageOnly: false };
const clear: HealthChange = { kind: 'clear' };
const known = {
  claim: { namespace: 'team', name: 'data', uid: 'uid-of-data' },
  conditions: storedDegraded,
  hasUnknown: false,
};
const reported = (change: HealthChange | undefined, hold?: Hold): Observed => ({
  kind: 'reported',
  claim,
  known,
  change,
  hold,
});
const refusal = { cause: new Error('no') };
const answers = {
  noteMissing: undefined,
  noteStored: undefined,
  noteDropped: undefined,
  noteForbidden: undefined,
  noteRefused: undefined,
};
const mine = { ...answers, takeTurn: true };
const failed = new Error('no answer');

interface Line {
  readonly given: string;
  readonly observed: Observed;
  readonly findClaim?: boolean | Error;
  readonly takeTurn?: boolean;
  readonly patchHealth?: unknown;
  readonly steps: readonly string[];
  readonly end: string;
}

it.each<Line>([
  { given: 'no report', observed: { kind: 'unreported' }, steps: [], end: 'H1 done keep' },
  {
    given: 'a volume that is gone, and its claim with health',
    observed: { kind: 'ended', claim },
    patchHealth: { kind: 'stored' },
    steps: ['H10 takeTurn', 'H2 patchHealth', 'H2 noteStored'],
    end: 'H2 done forget',
  },
  {
    given: 'a volume that is gone, and its claim too',
    observed: { kind: 'ended', claim: undefined },
    steps: [],
    end: 'H3 done forget',
  },
  { given: 'a volume that is not Bound', observed: { kind: 'unmonitored' }, steps: [], end: 'H4 done forget' },
  {
    given: 'no claim',
    observed: { kind: 'claimMissing', ref: known.claim },
    findClaim: false,
    steps: ['H18 findClaim', 'H5 noteMissing'],
    end: 'H5 done forget',
  },
  {
    given: 'a claim that only the API server has',
    observed: { kind: 'claimMissing', ref: known.claim },
    findClaim: true,
    steps: ['H18 findClaim'],
    end: 'H18 done keep',
  },
  {
    given: 'a claim that cannot be read',
    observed: { kind: 'claimMissing', ref: known.claim },
    findClaim: failed,
    steps: ['H18 findClaim'],
    end: 'H17 retry keep',
  },
  {
    given: 'another claim',
    observed: { kind: 'mismatch', reason: 'r' },
    steps: ['H6 noteMissing'],
    end: 'H6 done forget',
  },
  { given: 'a claim that shows the report', observed: reported(undefined), steps: [], end: 'H7 done settle' },
  { given: 'a recent message', observed: reported(set, 'message'), steps: [], end: 'H8 done keep' },
  { given: 'a value that was refused', observed: reported(set, 'refused'), steps: [], end: 'H9 done keep' },
  {
    given: 'the turn of another claim',
    observed: reported(set),
    takeTurn: false,
    steps: ['H10 takeTurn'],
    end: 'H10 done keep',
  },
  {
    given: 'a report with conditions',
    observed: reported(set),
    patchHealth: { kind: 'stored' },
    steps: ['H10 takeTurn', 'H11 patchHealth', 'H11 noteStored'],
    end: 'H11 done settle',
  },
  {
    given: 'a report without conditions',
    observed: reported(clear),
    patchHealth: { kind: 'stored' },
    steps: ['H10 takeTurn', 'H12 patchHealth', 'H12 noteStored'],
    end: 'H12 done settle',
  },
  {
    given: 'an API server that drops the field',
    observed: reported(set),
    patchHealth: { kind: 'dropped' },
    steps: ['H10 takeTurn', 'H11 patchHealth', 'H13 noteDropped'],
    end: 'H13 done keep',
  },
  {
    given: '403',
    observed: reported(set),
    patchHealth: { kind: 'forbidden', ...refusal },
    steps: ['H10 takeTurn', 'H11 patchHealth', 'H14 noteForbidden'],
    end: 'H14 done keep',
  },
  {
    given: '422',
    observed: reported(set),
    patchHealth: { kind: 'invalid', ...refusal },
    steps: ['H10 takeTurn', 'H11 patchHealth', 'H15 noteRefused'],
    end: 'H15 done keep',
  },
  {
    given: 'a claim that is gone by now',
    observed: reported(set),
    patchHealth: { kind: 'gone' },
    steps: ['H10 takeTurn', 'H11 patchHealth'],
    end: 'H16 done forget',
  },
  {
    given: 'a patch that fails',
    observed: reported(set),
    patchHealth: failed,
    steps: ['H10 takeTurn', 'H11 patchHealth'],
    end: 'H17 retry keep',
  },
])('given $given, then $end', async ({ observed, findClaim, takeTurn = true, patchHealth, steps, end }) => {
  const walk = await walkFlow(showHealth(observed), { ...mine, findClaim, takeTurn, patchHealth });
  const { row, outcome, memory = 'keep' } = walk.conclusion;
  expect([walk.steps, `${row} ${outcome.kind} ${memory}`]).toEqual([steps, end]);
});
