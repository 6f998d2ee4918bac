// SPDX-License-Identifier: Apache-2.0
/** Drives a flow with scripted answers, without an API server and a clock. */
import { type Flow, type FlowStep, runFlow } from '../src/loop/flow.ts';

/** By the name of the function that performs the step. An error is thrown into the flow; a function is called with what the flow says about the step. */
export type Answers = Readonly<Record<string, unknown>>;

export interface Walk<C> {
  /** In their order: `['E10 mark', ...]`. */
  readonly steps: readonly string[];
  /** What the flow said about the steps of this name. */
  readonly said: (name: string) => readonly (readonly unknown[])[];
  readonly conclusion: C;
}

/** Rejects for a step without an answer, whatever the flow does when that step fails: `undefined` is an answer. */
export async function walkFlow<C>(flow: Flow<C>, answers: Answers): Promise<Walk<C>> {
  const yielded: FlowStep[] = [];
  const perform = ({ perform: { name }, args }: FlowStep): unknown => {
    const answer = answers[name];
    if (answer instanceof Error) throw answer;
    return typeof answer === 'function' ? (answer as (...args: readonly unknown[]) => unknown)(...args) : answer;
  };
  const conclusion = await runFlow(flow, perform, async (step) => {
    yielded.push(step);
    const { name } = step.perform;
    if (!Object.hasOwn(answers, name)) throw new Error(`no answer to ${step.row} ${name}`);
  });
  return {
    steps: yielded.map(({ row, perform }) => `${row} ${perform.name}`),
    said: (name) => yielded.filter(({ perform }) => perform.name === name).map(({ args }) => args),
    conclusion,
  };
}
