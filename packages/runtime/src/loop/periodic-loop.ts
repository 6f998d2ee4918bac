// SPDX-License-Identifier: Apache-2.0
/** A loop without keys: passes over everything, one after another, with a pause between them. */
import { openGate } from '../controller/start-gate.ts';
import type { Caches, Loop, LoopPorts, LoopTypes, Watches } from './loop.ts';
import { watch } from './watch.ts';

/** A loop without keys. */
export type PassTypes<W extends object> = LoopTypes & { readonly watched: W };

export interface Pass<W extends object> extends LoopPorts {
  readonly caches: Caches<PassTypes<W>>;
  readonly signal: AbortSignal;
}

export interface PeriodicSpec<W extends object> {
  /** Name of the loop in log lines. */
  readonly name: string;
  readonly watches: Watches<PassTypes<W>>;
  /** The time from the end of a pass to the beginning of the next. */
  readonly pauseMs: number;
  /** `afterPause`: the first pass waits for a pause too. Default: it begins at once. */
  readonly begin?: 'afterPause';
  /** What a pause is. Default: it lasts as long as it is to. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** One pass. An error that it throws is logged with the message `failed`, and the next pass begins after the pause. */
  readonly pass: (pass: Pass<W>) => Promise<void>;
  readonly failed: string;
}

/** Guarantees: never two passes at a time; a pass starts only while the gate is open. */
export function definePeriodicLoop<W extends object>(spec: PeriodicSpec<W>): Loop {
  return {
    assemble: ({ client, clock, random, logger, informers: factory, gate = openGate }) => {
      const { informers, caches } = watch(factory, spec.watches);
      const { pause = (ms, signal) => clock.sleep(ms, signal) } = spec;
      const ports = { client, clock, random, logger, caches: caches as unknown as Caches<PassTypes<W>> };
      return {
        informers: [...informers.values()],
        run: async (signal) => {
          try {
            if (spec.begin === 'afterPause') await pause(spec.pauseMs, signal);
            for (;;) {
              await gate.whenOpen(signal);
              await spec.pass({ ...ports, signal }).catch((error: unknown) => {
                if (!signal.aborted) logger.error(error, spec.failed, { loop: spec.name });
              });
              await pause(spec.pauseMs, signal);
            }
          } catch (error) {
            if (!signal.aborted) throw error;
          }
        },
      };
    },
  };
}
