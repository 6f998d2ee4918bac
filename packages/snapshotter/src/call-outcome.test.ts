// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { csiFailure, finalCodes } from '../testing/builders.ts';
import { outcomeOfCreation } from './call-outcome.ts';

const open = ['Canceled', 'DeadlineExceeded', 'Unavailable', 'ResourceExhausted', 'Aborted'] as const;

it.each([
  { given: 'an error that is no answer of the driver', error: new Error('no'), outcome: 'open' },
  {
    given: 'an answer that cannot be read',
    error: csiFailure('Internal', 'no', { isUnreadable: true }),
    outcome: 'open',
  },
  ...open.map((code) => ({ given: code, error: csiFailure(code), outcome: 'open' })),
  ...finalCodes.map((code) => ({ given: code, error: csiFailure(code), outcome: 'final' })),
  { given: 'a code that gRPC does not have', error: csiFailure('Code(42)' as 'Internal'), outcome: 'final' },
  {
    given: 'a code with the name of a method of objects',
    error: csiFailure('toString' as 'Internal'),
    outcome: 'final',
  },
])('given $given, then the creation is $outcome', ({ error, outcome }) => {
  expect(outcomeOfCreation(error)).toBe(outcome);
});
