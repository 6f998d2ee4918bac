// SPDX-License-Identifier: Apache-2.0
import { linkSignals } from '../clock/deadline.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';

/**
 * Runs parts of one controller beside each other, and resolves when all have ended. When one fails, the others are stopped in
 * order and waited for, so that nothing of the controller runs any more when the failure is thrown: the code that catches it may
 * release a lease.
 */
export async function runTogether(
  parts: readonly ((signal: AbortSignal) => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  using linked = linkSignals([signal]);
  const results = await Promise.allSettled(
    parts.map(async (run) => {
      try {
        await run(linked.signal);
      } catch (error) {
        linked.abort(new OrderlyStop('a part of the controller failed'));
        throw error;
      }
    }),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason as Error;
}
