// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { type Conclusion, done, retry } from '../src/controller/reconcile.ts';
import { conclude, type Flow, orEnd, perform } from '../src/loop/flow.ts';
import { walkFlow } from './walk-flow.ts';

const write = (): void => undefined;

function* flow(): Flow<Conclusion> {
  yield* orEnd(perform('X1', write), (error) => conclude('X2', retry(error)));
  return conclude('X3', done);
}

it('given no answer to a step whose failure the flow handles, then the walk rejects with row and name', async () => {
  await expect(walkFlow(flow(), { read: undefined })).rejects.toThrow('no answer to X1 write');
});

it('given an error as the answer to a step, then the flow gets it, and the step counts as taken', async () => {
  const failure = new Error('no');
  const { steps, conclusion } = await walkFlow(flow(), { write: failure });
  expect([steps, conclusion]).toEqual([['X1 write'], conclude('X2', retry(failure))]);
});
