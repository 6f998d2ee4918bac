// SPDX-License-Identifier: Apache-2.0
/** Which changes of a claim wake the modification loop. */
import { expect, it } from 'vitest';
import { aClaim, type ClaimOptions } from '../../testing/builders.ts';
import type { Claim } from '../claim.ts';
import { matters } from './loop.ts';

const version = (resourceVersion: string, options: ClaimOptions = {}): Claim => {
  const claim = aClaim({ wantedClass: 'gold', ...options });
  return { ...claim, metadata: { ...claim.metadata, resourceVersion } };
};
const recorded: ClaimOptions = { modifyStatus: { status: 'Infeasible', targetVolumeAttributesClassName: 'gold' } };

it.each<{ readonly given: string; readonly previous?: Claim; readonly current?: Claim; readonly wakes: boolean }>([
  { given: 'a new claim', current: version('1'), wakes: true },
  { given: 'a new claim that is not Bound', current: version('1', { phase: 'Pending' }), wakes: false },
  {
    given: '[resizer#219] a new claim that has the class that it asks for',
    current: version('1', { currentClass: 'gold' }),
    wakes: false,
  },
  {
    given: 'a new claim with a recorded class',
    current: version('1', { currentClass: 'gold', ...recorded }),
    wakes: true,
  },
  { given: 'a claim that is gone', previous: version('1'), wakes: false },
  { given: 'another class', previous: version('1'), current: version('2', { wantedClass: 'silver' }), wakes: true },
  { given: 'a resync of an open claim', previous: version('1'), current: version('1'), wakes: true },
  {
    given: 'a resync of a finished one',
    previous: version('1'),
    current: version('1', { currentClass: 'gold' }),
    wakes: false,
  },
  {
    given: 'a resync of a recorded one',
    previous: version('1', recorded),
    current: version('1', recorded),
    wakes: false,
  },
  { given: 'a label', previous: version('1'), current: version('2'), wakes: false },
  {
    given: 'a claim that becomes Bound',
    previous: version('1', { phase: 'Pending' }),
    current: version('2'),
    wakes: true,
  },
  { given: 'a record that somebody removed', previous: version('1', recorded), current: version('2'), wakes: true },
  {
    given: 'another current class',
    previous: version('1', { currentClass: 'gold' }),
    current: version('2'),
    wakes: true,
  },
])('given $given, then it wakes: $wakes', ({ previous, current, wakes }) => {
  expect(matters({ previous, current, isInInitialList: false })).toBe(wakes);
});
