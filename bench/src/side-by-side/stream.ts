// SPDX-License-Identifier: Apache-2.0
/** A steady stream of work, whose latencies are measured. */
import { busyShareSince, processorTimes } from './machine-load.ts';
import type { Recording } from './measures.ts';
import type { BenchEnvironment } from './environment.ts';
import type { Watching } from './watching.ts';

export interface Stream {
  readonly watch: Watching;
  readonly names: readonly string[];
  readonly periodMs: number;
  readonly ask: (name: string) => Promise<unknown>;
  /** The state of what is done. */
  readonly done: string;
}

/** One each period, until all are done. Resolves with the times at which the API server had accepted each, in monotonic milliseconds. */
export async function stream(
  environment: BenchEnvironment,
  { watch, names, periodMs, ask, done }: Stream,
  to: Recording,
): Promise<ReadonlyMap<string, number>> {
  const { clock, patience } = environment.cluster;
  const acceptedAtMs = new Map<string, number>();
  const asked: Promise<void>[] = [];
  const timesBefore = processorTimes();
  const startMs = clock.monotonicMs();
  for (const [at, name] of names.entries()) {
    asked.push(ask(name).then(() => void acceptedAtMs.set(name, clock.monotonicMs())));
    await clock.sleep(Math.max(0, startMs + (at + 1) * periodMs - clock.monotonicMs()), patience.signal);
  }
  await Promise.all(asked);
  await watch.until(done, names);
  to.record('streamBusy', busyShareSince(timesBefore) * 100);
  return acceptedAtMs;
}
