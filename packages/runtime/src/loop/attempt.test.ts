// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { ask, attempt, isFailed } from './attempt.ts';

const failing = (): Promise<never> => Promise.reject(new Error('no'));

it('given work and a question, then only a rejection is a failure, and it is a result', async () => {
  const results = [await attempt(async () => 1), await attempt(failing), await ask(async () => 1), await ask(failing)];
  const failed = { failure: new Error('no') };
  expect(results).toEqual(['done', failed, { value: 1 }, failed]);
  expect(results.map(isFailed)).toEqual([false, true, false, true]);
  expect(isFailed('untried')).toBe(false);
});
