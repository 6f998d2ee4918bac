// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { runDecisions } from './run-decisions.ts';

type Action = { readonly kind: 'read' | 'write' } | { readonly kind: 'conclude'; readonly says: string };
interface State {
  readonly done: readonly string[];
}

const decide = ({ done }: State): Action => {
  if (!done.includes('read')) return { kind: 'read' };
  return done.includes('write') ? { kind: 'conclude', says: 'written' } : { kind: 'write' };
};

it('given steps that are learned from, then each is done once, in the order decided, and the end is told', async () => {
  const concluded = await runDecisions<State, Action>(
    { done: [] },
    { subject: 'claim 1', decide, perform: async ({ kind }, { done }) => ({ done: [...done, kind] }) },
  );
  expect(concluded).toEqual({ state: { done: ['read', 'write'] }, conclusion: { kind: 'conclude', says: 'written' } });
});

it('given a step that nothing is learned from, then it is not done again', async () => {
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
  await expect(running).rejects.toThrow('claim 1: read was decided twice in one run');
  expect(performed).toEqual(['read']);
});
