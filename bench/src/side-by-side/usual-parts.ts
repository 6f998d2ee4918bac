// SPDX-License-Identifier: Apache-2.0
/** What is measured of every program in the same way: a start, a take-over, the memory when idle and beside foreign objects. */
import type { Part } from './bench.ts';
import { recordMemory } from './idle-memory.ts';
import { measureStart } from './start.ts';
import { namesOf } from './stored-volumes.ts';
import { measureTakeOver } from './take-over.ts';
import type { SidecarOptions, TestBed } from './test-bed.ts';
import type { Watching } from './watching.ts';

/** One piece of work: how it is asked for, and how it is seen that it is done. */
export interface Served {
  readonly watch: (bed: TestBed) => Promise<Watching>;
  readonly ask: (bed: TestBed, names: readonly string[]) => Promise<unknown>;
  /** The state of what is done. */
  readonly done: string;
}

/** Resolves with the time when the piece of work was seen done. */
async function serveOne(
  bed: TestBed,
  watch: Watching,
  { ask, done, what }: Served & { readonly what: string },
): Promise<number> {
  const names = namesOf(bed, what, 1);
  await ask(bed, names);
  await watch.until(done, names);
  return Math.max(...watch.times(done, names));
}

/** `method`: the call that waiting work causes. */
export function startPart(served: Served, method: string): Part {
  return async (bed, { settleMs }, to) => {
    await using watch = await served.watch(bed);
    const names = namesOf(bed, 'waiting', 1);
    await served.ask(bed, names);
    await measureStart(bed, { method, served: () => watch.until(served.done, names), settleMs }, to);
  };
}

export function leadersPart(served: Served): Part {
  return async (bed, _options, to) => {
    await using watch = await served.watch(bed);
    await measureTakeOver(bed, (what) => serveOne(bed, watch, { ...served, what }), to);
  };
}

/** Finished work proves that all caches are filled. */
export function foreignPart(served: Served, sidecar?: (bed: TestBed) => SidecarOptions): Part {
  return async (bed, options, to) => {
    await using watch = await served.watch(bed);
    const { process } = await bed.startSidecar(sidecar?.(bed));
    await serveOne(bed, watch, { ...served, what: 'probe' });
    await recordMemory(bed, { ...options, pid: process.pid, as: 'Foreign' }, to);
  };
}
