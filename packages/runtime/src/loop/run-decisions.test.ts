// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { done, type Outcome } from '../controller/reconcile.ts';
import { runDecisions } from './run-decisions.ts';

type Action =
  | { readonly row: string; readonly kind: 'read' | 'write' }
  | { readonly row: string; readonly kind: 'conclude'; readonly outcome: Outcome };
interface State {
  readonly done: readonly string[];
}

const decide = (state: State): Action => {
  if (!state.done.includes('read')) return { row: 'X1', kind: 'read' };
  return state.done.includes('write') ? { row: 'X3', kind: 'conclude', outcome: done } : { row: 'X2', kind: 'write' };
};

it('given steps that are learned from, then each is performed once, in the order decided, and every row is reported', async () => {
  const rows: string[] = [];
  const concluded = await runDecisions<State, Action>(
    { done: [] },
    {
      subject: 'claim 1',
      decide,
      perform: async ({ kind }, state) => ({ done: [...state.done, kind] }),
      onDecision: ({ row }) => rows.push(row),
    },
  );
  expect(concluded).toEqual({
    state: { done: ['read', 'write'] },
    conclusion: { row: 'X3', kind: 'conclude', outcome: done },
  });
  expect(rows).toEqual(['X1', 'X2', 'X3']);
});

it('given a step from which nothing is learned, then it is not performed again', async () => {
  const performed: string[] = [];
  const running = runDecisions<State, Action>(
    { done: [] },
    {
      subject: 'claim 1',
      decide,
      perform: async ({ kind }, state) => {
        performed.push(kind);
        return state;
      },
    },
  );
  await expect(running).rejects.toThrow('claim 1: row X1 decided read twice in one run');
  expect(performed).toEqual(['read']);
});
