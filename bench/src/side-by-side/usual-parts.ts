// SPDX-License-Identifier: Apache-2.0
/** What is measured of every program in the same way: a start, a take-over, the memory when idle and beside foreign objects. */
import type { Part } from './bench.ts';
import { recordMemory } from './idle-memory.ts';
import { measureStart } from './start.ts';
import { namesOf } from './stored-volumes.ts';
import { measureTakeOver } from './take-over.ts';
import type { SidecarOptions, BenchEnvironment } from './environment.ts';
import type { Watching } from './watching.ts';

/** One piece of work: how it is asked for, and how it is seen that it is done. */
export interface Served {
  readonly watch: (environment: BenchEnvironment) => Promise<Watching>;
  readonly ask: (environment: BenchEnvironment, names: readonly string[]) => Promise<unknown>;
  /** The state of what is done. */
  readonly done: string;
}

/** Resolves with the time when the piece of work was seen done. */
async function serveOne(
  environment: BenchEnvironment,
  watch: Watching,
  { ask, done, what }: Served & { readonly what: string },
): Promise<number> {
  const names = namesOf(environment, what, 1);
  await ask(environment, names);
  await watch.until(done, names);
  return Math.max(...watch.times(done, names));
}

/** `method`: the call that waiting work causes. */
export function startPart(served: Served, method: string): Part {
  return async (environment, { settleMs }, to) => {
    await using watch = await served.watch(environment);
    const names = namesOf(environment, 'waiting', 1);
    await served.ask(environment, names);
    await measureStart(environment, { method, served: () => watch.until(served.done, names), settleMs }, to);
  };
}

export function leadersPart(served: Served): Part {
  return async (environment, _options, to) => {
    await using watch = await served.watch(environment);
    await measureTakeOver(environment, (what) => serveOne(environment, watch, { ...served, what }), to);
  };
}

/** Finished work proves that all caches are filled. */
export function foreignPart(served: Served, sidecar?: (environment: BenchEnvironment) => SidecarOptions): Part {
  return async (environment, options, to) => {
    await using watch = await served.watch(environment);
    const { process } = await environment.startSidecar(sidecar?.(environment));
    await serveOne(environment, watch, { ...served, what: 'probe' });
    await recordMemory(environment, { ...options, pid: process.pid, as: 'Foreign' }, to);
  };
}
