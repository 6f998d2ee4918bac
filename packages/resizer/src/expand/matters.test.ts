// SPDX-License-Identifier: Apache-2.0
/** Which changes of a claim wake the expansion loop. */
import { expect, it } from 'vitest';
import { aClaim, aCondition, type ClaimOptions } from '../../testing/builders.ts';
import type { Claim } from '../claim.ts';
import { annotations } from '../names.ts';
import { matters } from './loop.ts';

const version = (resourceVersion: string, options: ClaimOptions = {}): Claim => {
  const claim = aClaim(options);
  return { ...claim, metadata: { ...claim.metadata, resourceVersion } };
};

it.each<{ readonly given: string; readonly change?: ClaimOptions; readonly wakes: boolean }>([
  { given: 'nothing that matters', wakes: false },
  { given: '[resizer#210] a lowered request', change: { spec: '1536Mi' }, wakes: true },
  { given: 'a raised request', change: { spec: '3Gi' }, wakes: true },
  { given: 'the same request in another text', change: { spec: '2048Mi' }, wakes: false },
  { given: 'an annotation', change: { annotations: { [annotations.storageResizer]: 'x' } }, wakes: true },
  { given: 'another annotation', change: { annotations: { x: 'y' } }, wakes: false },
  { given: 'a larger capacity', change: { cap: '1536Mi' }, wakes: true },
  { given: 'a smaller capacity', change: { cap: '512Mi' }, wakes: false },
  { given: '[resizer#211] a resize status', change: { rstatus: 'NodeResizeInfeasible' }, wakes: true },
  { given: 'a condition', change: { conditions: [aCondition('Resizing')] }, wakes: false },
])('given $given, then it wakes: $wakes', ({ change = {}, wakes }) => {
  const previous = version('1');
  expect(matters({ previous, current: version('2', change), isInInitialList: false })).toBe(wakes);
  expect(matters({ previous, current: previous, isInInitialList: false })).toBe(true);
});
