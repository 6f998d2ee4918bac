// SPDX-License-Identifier: Apache-2.0
import { done, retry } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aVolume, driverName } from '../../testing/builders.ts';
import { decide } from './decide.ts';
import type { Action, ReleaseState } from './state.ts';

const failure = new Error('no');
const deleting = aVolume({ deleting: 'yes' });

it.each<{ row: string; because: string; given: Partial<ReleaseState>; then: Action }>([
  { row: 'F1', because: 'it stays', given: { volume: aVolume() }, then: { kind: 'conclude', outcome: done } },
  { row: 'F2', because: 'it is attached', given: { attachment: 'va1' }, then: { kind: 'conclude', outcome: done } },
  { row: 'F3', because: 'nothing needs it any more', given: {}, then: { kind: 'release' } },
  { row: 'F4', because: 'that is all', given: { release: 'done' }, then: { kind: 'conclude', outcome: done } },
  {
    row: 'F4',
    because: 'an attachment that came meanwhile does not undo what is done',
    given: { release: 'done', attachment: 'va1' },
    then: { kind: 'conclude', outcome: done },
  },
  {
    row: 'F4',
    because: 'the server may take it later',
    given: { release: { failure } },
    then: { kind: 'conclude', outcome: retry(failure) },
  },
])('row $row: $because', ({ given, then }) => {
  expect(decide({ volume: deleting, attachment: undefined, release: 'untried', ...given }, driverName)).toEqual(then);
});
