// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { walkFlow } from '../../testing/walk-flow.ts';
import { type Conclusion, done, retry } from '../controller/reconcile.ts';
import { conclude, concluded, ending, type Flow, orEnd, perform, runFlow } from './flow.ts';

const failure = new Error('no');
const read = (_run: unknown, name: string): Promise<string> => Promise.resolve(name);
const write = (_run: unknown, _text: string): void => undefined;

function* copy(): Flow<Conclusion> {
  const text = yield* perform('X1', read, 'a');
  yield* orEnd(perform('X2', write, text), (error) => conclude('X3', retry(error)));
  return conclude('X4', done);
}

it('given steps, then each gets what the flow says, its answer goes on from there, and the end is the conclusion', async () => {
  const { steps, said, conclusion } = await walkFlow(copy(), { read: (name: string) => `${name}!`, write: undefined });
  expect([steps, said('read'), said('write')]).toEqual([['X1 read', 'X2 write'], [['a']], [['a!']]]);
  expect(conclusion).toEqual({ row: 'X4', kind: 'conclude', outcome: done });
});

it('given a step that fails, then the run ends with the conclusion for that; given none, then the run fails', async () => {
  const answers = { read: 'a', write: failure };
  expect((await walkFlow(copy(), answers)).conclusion).toEqual(conclude('X3', retry(failure)));
  await expect(walkFlow(copy(), { ...answers, read: failure })).rejects.toBe(failure);
});

it('given a step that fails with no error, then the conclusion gets one', async () => {
  const odd = runFlow(copy(), ({ row }) => (row === 'X2' ? Promise.reject('odd') : 'a'));
  expect(await odd).toEqual(conclude('X3', retry(new Error('odd'))));
});

it('given a failure that a flow reports, then the steps of that are performed, and the run ends as it says', async () => {
  function* report(error: Error): Flow<Conclusion> {
    yield* perform('X3', write, error.message);
    return conclude('X3', retry(error));
  }
  function* reading(): Flow<Conclusion> {
    yield* orEnd(perform('X1', read, 'a'), report);
    return conclude('X4', done);
  }
  const { steps, said, conclusion } = await walkFlow(reading(), { read: failure, write: undefined });
  expect([steps, said('write'), conclusion]).toEqual([
    ['X1 read', 'X3 write'],
    [['no']],
    conclude('X3', retry(failure)),
  ]);
});

function* early(): Flow<string> {
  yield* perform('X1', write, '');
  throw ending(conclude('X5', done));
}

it('given a flow within a flow that ends the run, then no failure of a step is seen in it', async () => {
  function* outer(): Flow<Conclusion> {
    yield* orEnd(early(), () => conclude('X6', done));
    return conclude('X4', done);
  }
  expect((await walkFlow(outer(), { write: undefined })).conclusion).toEqual(conclude('X5', done));
});

it('given a flow that looks at the conclusion of another one, then it has it, however that one ended', async () => {
  function* outer(inner: Flow<Conclusion>): Flow<Conclusion> {
    const { row } = yield* concluded(inner);
    return conclude(`after ${row}`, done);
  }
  const rowAfter = async (inner: Flow<unknown>): Promise<string> =>
    (await walkFlow(outer(inner as Flow<Conclusion>), { read: 'a', write: undefined })).conclusion.row;
  expect([await rowAfter(early()), await rowAfter(copy())]).toEqual(['after X5', 'after X4']);
  await expect(walkFlow(outer(copy()), { read: failure })).rejects.toBe(failure);
});

it('given a defect in the flow itself, then the run fails with it', async () => {
  // eslint-disable-next-line require-yield
  function* defect(): Flow<Conclusion> {
    throw failure;
  }
  await expect(runFlow(defect(), () => undefined)).rejects.toBe(failure);
});

it('given a flow that begins again for ever, then its run fails after a hundred steps', async () => {
  function* forEver(): Flow<Conclusion> {
    for (;;) yield* perform('X1', read, 'a');
  }
  let steps = 0;
  const running = runFlow(forEver(), () => (steps += 1));
  await expect(running).rejects.toThrow('more than 100 steps in one run, the last one in row X1');
  expect(steps).toBe(100);
});

it('given a step that must not begin, then the run rejects, and the flow does not take that for a failure of the step', async () => {
  const performed: string[] = [];
  function* flow(): Flow<Conclusion> {
    yield* orEnd(perform('A1', first), () => conclude('A2', done));
    return conclude('A3', done);
  }
  const first = (): void => void performed.push('first');
  const running = runFlow(
    flow(),
    () => performed.push('any'),
    () => Promise.reject(new Error('the lease is lost')),
  );
  await expect(running).rejects.toThrow('the lease is lost');
  expect(performed).toEqual([]);
});

it('given an outcome where a conclusion has to be, then it does not compile', () => {
  // @ts-expect-error: it would end the run without a row.
  const flow = (): Flow<string> => orEnd(perform('X1', read, 'a'), (error) => retry(error));
  expect(flow().next().value).toMatchObject({ row: 'X1' });
});
