// SPDX-License-Identifier: Apache-2.0
/**
 * Everything that may end a run from outside.
 *
 *   signal, before `drainOnSignal` or without it   -> ends at once: 143 or 130, the lease is left to expire
 *   first signal after `drainOnSignal`             -> `stopping` aborts with OrderlyStop: finish, hand over the lease
 *   second signal                                  -> ends at once: 1
 *   drain not finished within its bound            -> ends: 1, nothing is handed over while work may still run
 *   driver lost                                    -> termination log, ends: 1
 *   exception that nobody caught                   -> ends: 2, as a panic does
 */
import { type Clock, type Logger, OrderlyStop, type Timer } from '@csi-sidecars/runtime';
import { exitCodes } from './exit.ts';
import type { World } from './world.ts';

export interface Ending extends Disposable {
  /** Resolves with the exit code when the run has to end now, whatever it is doing. */
  readonly forced: Promise<number>;
  /** Aborts for an orderly stop. */
  readonly stopping: AbortSignal;
  /** From now on the first signal asks for an orderly stop. */
  readonly drainOnSignal: () => void;
  readonly force: (code: number) => void;
}

export interface EndingDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly world: Pick<World, 'onSignal' | 'onDefect'>;
}

/** Within kubelet's default of 30 s, with time left to write the lease and the last lines. */
export const drainLimitMs = 25_000;

export function createEnding({ clock, log, world }: EndingDeps): Ending {
  const forced = Promise.withResolvers<number>();
  const stopping = new AbortController();
  let drains = false;
  let limit: Timer | undefined;

  const signals = world.onSignal((signal) => {
    if (!drains) {
      forced.resolve(exitCodes[signal]);
    } else if (stopping.signal.aborted) {
      forced.resolve(exitCodes.failure);
    } else {
      log.info(0, 'Received SIGTERM or SIGINT signal, shutting down controller.');
      limit = clock.timer(drainLimitMs, () => {
        log.error(undefined, 'Work did not end in time, the lease is left to expire', { limit: `${drainLimitMs} ms` });
        forced.resolve(exitCodes.failure);
      });
      stopping.abort(new OrderlyStop());
    }
  });
  const defects = world.onDefect((error) => {
    log.error(error, 'Unhandled error', { stack: error instanceof Error ? error.stack : undefined });
    forced.resolve(exitCodes.defect);
  });

  return {
    forced: forced.promise,
    stopping: stopping.signal,
    drainOnSignal: () => {
      drains = true;
    },
    force: forced.resolve,
    [Symbol.dispose]: () => {
      limit?.cancel();
      signals[Symbol.dispose]();
      defects[Symbol.dispose]();
    },
  };
}
