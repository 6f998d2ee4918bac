// SPDX-License-Identifier: Apache-2.0
/** The words of all loops for what was tried in a run: a write, a call, a read. */
import { toError } from '../api/to-error.ts';

export interface Failed {
  readonly failure: Error;
}

/** `untried` is where a run begins. */
export type Attempt = 'untried' | 'done' | Failed;

/** What was read, or answered to a call. */
export type Answer<T> = 'unasked' | { readonly value: T } | Failed;

export function isFailed(attempt: string | object): attempt is Failed {
  return typeof attempt === 'object' && 'failure' in attempt;
}

/** Never rejects: a failure is something that the loop learns. */
export async function attempt(work: () => Promise<unknown>): Promise<'done' | Failed> {
  try {
    await work();
    return 'done';
  } catch (error) {
    return { failure: toError(error) };
  }
}

/** Never rejects, as `attempt`. */
export async function ask<T>(question: () => Promise<T>): Promise<{ readonly value: T } | Failed> {
  try {
    return { value: await question() };
  } catch (error) {
    return { failure: toError(error) };
  }
}
