// SPDX-License-Identifier: Apache-2.0
/**
 * A run as a straight flow: a generator that yields its steps and gets each answer back where it stands. It reads from top to bottom, and
 * is pure: a step is a value, and the function that performs it belongs to the loop. A step that fails throws where it was yielded.
 */
import { toError } from '../api/errors.ts';
import type { Conclusion, Outcome } from '../controller/reconcile.ts';

export interface FlowStep {
  /** The row of the behaviour page that the step comes from. */
  readonly row: string;
  /** Gets the run (its ports, its caches and what all runs share), and `args`, which is what the flow says about the step. */
  readonly perform: (run: never, ...args: never) => unknown;
  readonly args: readonly unknown[];
}

export type Flow<T> = Generator<FlowStep, T, unknown>;

/** One step: `const marked = yield* perform('E10', mark, claim)`. The function throws what fails. Its name is that of the step. */
export function* perform<Run, Args extends readonly unknown[], T>(
  row: string,
  step: (run: Run, ...args: Args) => T,
  ...args: Args
): Flow<Awaited<T>> {
  return (yield { row, perform: step, args }) as Awaited<T>;
}

export function conclude(row: string, outcome: Outcome): Conclusion {
  return { row, kind: 'conclude', outcome };
}

class Ended extends Error {
  readonly conclusion: unknown;
  constructor(conclusion: unknown) {
    super('the run has ended');
    this.conclusion = conclusion;
  }
}

/** Ends a run from a flow within its flow: `throw ending(conclude('A4', done))`. */
export function ending(conclusion: Conclusion): Error {
  return new Ended(conclusion);
}

/** If a step of `flow` fails, the run ends with this conclusion, or with that of this flow. */
export function* orEnd<T>(flow: Flow<T>, conclusionOf: (failure: Error) => Conclusion | Flow<Conclusion>): Flow<T> {
  try {
    return yield* flow;
  } catch (error) {
    if (error instanceof Ended) throw error;
    const end = conclusionOf(toError(error));
    throw new Ended(Symbol.iterator in end ? yield* end : end);
  }
}

/** The conclusion of a flow within a flow, also if it ended from its middle. */
export function* concluded<C>(flow: Flow<C>): Flow<C> {
  try {
    return yield* flow;
  } catch (error) {
    if (error instanceof Ended) return error.conclusion as C;
    throw error;
  }
}

/** Far more than any run needs. A flow that begins again after each odd answer must not do that for ever. */
const maxSteps = 100;

/**
 * Resolves with the conclusion of the flow. Rejects if the flow is defect, takes too many steps, or lets the failure of a step through; also if
 * `before` rejects, which the flow does not get to see.
 */
export async function runFlow<C>(
  flow: Flow<C>,
  perform: (step: FlowStep) => unknown,
  before?: (step: FlowStep) => Promise<void>,
): Promise<C> {
  const whole = concluded(flow);
  let next = whole.next();
  for (let steps = 1; next.done !== true; steps += 1) {
    if (steps > maxSteps)
      throw new Error(`more than ${maxSteps} steps in one run, the last one in row ${next.value.row}`);
    await before?.(next.value);
    let answer: unknown;
    try {
      answer = await perform(next.value);
    } catch (error) {
      next = whole.throw(error);
      continue;
    }
    next = whole.next(answer);
  }
  return next.value;
}
