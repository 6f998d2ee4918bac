// SPDX-License-Identifier: Apache-2.0
import { done, type RecordedEvent, retry } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aProtectedClaim, aSnapshot } from '../../testing/builders.ts';
import { aSnapshotState, failed } from '../../testing/snapshot-states.ts';
import { conclude } from '../conclusions.ts';
import { withClaimRelease } from './conclude.ts';
import { claimNotReleased } from './messages.ts';
import type { Action } from './state.ts';

const notReleased = aSnapshotState({ claimReleased: failed });
const event: RecordedEvent = { type: 'Warning', reason: 'SnapshotFinalizerError', message: 'no' };
const another = retry(new Error('another'));

it('given a claim that was not released, when the run has another step, then that step is taken first', () => {
  const action: Action = { row: 'S18', kind: 'releaseClaim', claim: aProtectedClaim(), snapshot: aSnapshot() };
  expect(withClaimRelease(notReleased, action)).toEqual(action);
});

it.each([
  { given: 'nothing else failed', outcome: done, then: retry(failed.failure) },
  { given: 'something else failed as well', outcome: another, then: another },
])(
  'given a claim that was not released, when $given, then the run is repeated, and its events are those of the claim and its own',
  ({ outcome, then }) => {
    const action = withClaimRelease(notReleased, conclude('S21', outcome, event));
    expect(action).toEqual(conclude('S21', then, claimNotReleased, event));
  },
);

it.each(['untried', 'done'] as const)(
  'given the release of the claim is %s, then the conclusion stays',
  (claimReleased) => {
    const conclusion = conclude('S21', done, event);
    expect(withClaimRelease(aSnapshotState({ claimReleased }), conclusion)).toBe(conclusion);
  },
);
