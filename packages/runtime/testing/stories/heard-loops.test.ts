// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { done, dropped, postpone, requeueAfter, retry, retryWithin } from '../../src/controller/reconcile.ts';
import { outcomeText } from './heard-loops.ts';

it.each([
  [done, ''],
  [dropped, ': dropped'],
  [requeueAfter(300_000), ': requeue after 300 s'],
  [retry(new Error('vault has it already')), ': retry: vault has it already'],
  [retryWithin(1_500, new Error('no answer')), ': retry within 1.5 s: no answer'],
  [postpone('no node has room'), ': postpone: no node has room'],
])('given the outcome %j, then the line of the conclusion ends with "%s"', (outcome, text) => {
  expect(outcomeText(outcome)).toBe(text);
});
