// SPDX-License-Identifier: Apache-2.0
/** One line per row of the claim table, from the answer on: what is known, and the one thing that is done next. */
import { describe, expect, it } from 'vitest';
import {
  attempted,
  context,
  protection,
  final,
  made,
  type Row,
  settling,
  show,
  state,
  tooSmall,
} from '../../testing/claim-states.ts';
import { decide } from './decide.ts';

const rows: readonly Row[] = [
  { row: 'C23', given: 'final, pinned', state: state({ ...attempted, created: final }), next: 'settle' },
  {
    row: 'C23',
    given: 'final, settled',
    state: state({ ...attempted, created: final, unsettled: 'no' }),
    next: 'retry, Warning: no, failure',
  },
  {
    row: 'C23',
    given: 'final, finalizer still on',
    state: state({ ...attempted, created: final, unsettled: 'settled' }, protection),
    next: 'unprotect',
  },
  {
    row: 'C23',
    given: 'final, finalizer stays',
    state: state({ ...attempted, created: final, unsettled: 'settled', unprotecting: 'failed' }, protection),
    next: 'retry, Warning: no, failure',
  },
  {
    row: 'C23',
    given: 'final, claim gone',
    state: state({ ...attempted, created: final, unsettled: 'no', presence: 'gone' }),
    next: 'done, Warning: no, failure',
  },
  {
    row: 'C24',
    given: 'infeasible',
    state: state({ ...attempted, created: { kind: 'infeasible', message: 'no' }, unsettled: 'no' }),
    next: 'retry, Warning: Volume provisioning failed with infeasible error. Retries will be delayed. no, failure, infeasible',
  },
  {
    row: 'C25',
    given: 'reschedule, pinned',
    state: state({ ...attempted, created: { kind: 'reschedule', message: 'full' } }, { node: 'n' }),
    next: 'settle',
  },
  {
    row: 'C25',
    given: 'reschedule',
    state: state({ ...attempted, created: { kind: 'reschedule', message: 'full' }, unsettled: 'no' }, { node: 'n' }),
    next: 'reschedule, remove finalizer',
  },
  {
    row: 'C25',
    given: 'rescheduled',
    state: state(
      { ...attempted, created: { kind: 'reschedule', message: 'full' }, unsettled: 'no', rescheduling: 'done' },
      { node: 'n' },
    ),
    next: 'done, Warning: full, failure',
  },
  {
    row: 'C25',
    given: 'reschedule failed',
    state: state(
      { ...attempted, created: { kind: 'reschedule', message: 'full' }, unsettled: 'no', rescheduling: 'failed' },
      { node: 'n' },
    ),
    next: 'retry, Warning: full, failure',
  },
  {
    row: 'C26',
    given: 'reschedule without annotation',
    state: state({ ...attempted, created: { kind: 'reschedule', message: 'full' }, unsettled: 'no' }),
    next: 'retry, Warning: full, failure',
  },
  {
    row: 'C26',
    given: 'reschedule, deleting',
    state: state(
      { ...attempted, created: { kind: 'reschedule', message: 'full' }, unsettled: 'settled' },
      { ...settling, node: 'n' },
    ),
    next: 'unprotect',
  },
  {
    row: 'C27',
    given: 'ambiguous',
    state: state({ ...attempted, created: { kind: 'ambiguous', message: 'late' } }),
    next: 'protect',
  },
  {
    row: 'C27',
    given: 'ambiguous, protected',
    state: state({ ...attempted, created: { kind: 'ambiguous', message: 'late' } }, protection),
    next: 'retry, Warning: late, failure',
  },
  {
    row: 'C27',
    given: 'ambiguous, deleting',
    state: state({ ...attempted, created: { kind: 'ambiguous', message: 'late' } }, { deleting: 'yes' }),
    next: 'retry, Warning: late, failure',
  },
  {
    row: 'C27',
    given: 'malformed',
    state: state({ ...attempted, created: { kind: 'malformed', message: 'odd' } }),
    next: 'protect',
  },
  {
    row: 'C27',
    given: 'exists, unsettled',
    state: state({ ...attempted, created: { kind: 'final', message: 'exists', isSettled: false } }, settling),
    next: 'retry, Warning: exists; the claim is kept until it is known whether a volume was created for it, failure',
  },
  { row: 'C28', given: 'too small', state: state({ ...attempted, created: tooSmall }), next: 'cleanUp' },
  {
    row: 'C29',
    given: 'too small, cleaned up',
    state: state({ ...attempted, created: tooSmall, cleanedUp: 'yes', unsettled: 'no' }),
    next: 'retry, Warning: small, failure',
  },
  {
    row: 'C30',
    given: 'too small, not cleaned up',
    state: state({ ...attempted, created: tooSmall, cleanedUp: { failure: 'busy', isOpen: false } }, protection),
    next: 'retry, Warning: small. Cleanup of volume pvc-uid-data failed, volume is orphaned: busy, failure',
  },
  {
    row: 'C30',
    given: 'too small, not cleaned up, no finalizer',
    state: state({ ...attempted, created: tooSmall, cleanedUp: { failure: 'busy', isOpen: false } }),
    next: 'protect',
  },
  { row: 'C31', given: 'made', state: state({ ...attempted, created: made }), next: 'save' },
  {
    row: 'C32',
    given: 'saved',
    state: state({ ...attempted, created: made, saved: { kind: 'saved', claim: 'there' } }),
    next: 'settle',
  },
  {
    row: 'C32',
    given: 'saved, settled',
    state: state({ ...attempted, created: made, saved: { kind: 'saved', claim: 'there' }, unsettled: 'no' }),
    next: 'done, Normal: Successfully provisioned volume pvc-uid-data, success',
  },
  {
    row: 'C32',
    given: 'saved, claim gone',
    state: state({ ...attempted, created: made, saved: { kind: 'saved', claim: 'gone' }, unsettled: 'no' }),
    next: 'done, success',
  },
  {
    row: 'C33',
    given: 'not saved',
    state: state({ ...attempted, created: made, saved: { kind: 'later', cause: new Error('x') }, unsettled: 'saving' }),
    next: 'protect',
  },
  {
    row: 'C33',
    given: 'not saved, protected',
    state: state(
      { ...attempted, created: made, saved: { kind: 'later', cause: new Error('x') }, unsettled: 'saving' },
      protection,
    ),
    next: 'done, success',
  },
  {
    row: 'C34',
    given: 'taken',
    state: state({ ...attempted, created: made, saved: { kind: 'taken', message: 'theirs' } }),
    next: 'settle',
  },
  {
    row: 'C34',
    given: 'taken, settled',
    state: state({ ...attempted, created: made, saved: { kind: 'taken', message: 'theirs' }, unsettled: 'no' }),
    next: 'retry, Warning: theirs, failure',
  },
  {
    row: 'C35',
    given: 'refused',
    state: state({ ...attempted, created: made, saved: { kind: 'refused', message: 'bad' } }),
    next: 'protect',
  },
  {
    row: 'C35',
    given: 'refused, protected',
    state: state({ ...attempted, created: made, saved: { kind: 'refused', message: 'bad' } }, protection),
    next: 'retry, Warning: bad, failure',
  },
];

describe('the claim table', () => {
  it.each(rows)('$row: given $given, when decided, then $next', ({ state, next }) => {
    expect(show(decide(state, context))).toBe(next);
  });
});
