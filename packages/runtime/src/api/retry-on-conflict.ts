// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';
import { isConflict } from './error-predicates.ts';

export interface ConflictRetry {
  readonly attempts: number;
  readonly delayMs: number;
  readonly factor: number;
  readonly signal?: AbortSignal | undefined;
}

/** client-go's retry.DefaultRetry. */
const defaultConflictRetry: ConflictRetry = { attempts: 5, delayMs: 10, factor: 1 };

/**
 * Runs `write` again when it lost a race, a few times in quick succession; the last conflict is thrown when the attempts
 * run out. After a conflict `write` must read the object from the API (not from a cache), or it loses the same race again.
 */
export async function retryOnConflict<T>(
  deps: { readonly clock: Clock; readonly random: Random },
  write: () => Promise<T>,
  policy: ConflictRetry = defaultConflictRetry,
): Promise<T> {
  let delayMs = policy.delayMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isConflict(error) || attempt >= policy.attempts) throw error;
    }
    await deps.clock.sleep(delayMs * (1 + jitter * deps.random.next()), policy.signal);
    delayMs *= policy.factor;
  }
}

const jitter = 0.1;
