// SPDX-License-Identifier: Apache-2.0
/** The results of writes, calls and reads in a run, for all loops. */
import { toError } from '../api/to-error.ts';

export interface Failed {
  readonly failure: Error;
}

/** A run begins with `untried`. */
export type Attempt = 'untried' | 'done' | Failed;

/** The result of a read or a call. */
export type Answer<T> = 'unasked' | { readonly value: T } | Failed;

export function isFailed(attempt: string | object): attempt is Failed {
  return typeof attempt === 'object' && 'failure' in attempt;
}

/** Never rejects: a failure is a result that the loop learns. */
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
