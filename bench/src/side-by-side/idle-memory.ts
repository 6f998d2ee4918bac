// SPDX-License-Identifier: Apache-2.0
/** The memory of a process once it is idle. */
import type { Recording } from './measures.ts';
import type { Options } from './options.ts';
import { memoryOf } from './process-cost.ts';
import type { BenchEnvironment } from './environment.ts';

interface Idle extends Pick<Options, 'settleMs'> {
  readonly pid: number;
  /** The measures are `rss` and `anon` with this at their end. */
  readonly as: string;
}

/** The memory of a process that was idle for a while. */
export async function recordMemory(
  { cluster: { clock, patience } }: BenchEnvironment,
  { pid, as, settleMs }: Idle,
  to: Recording,
): Promise<void> {
  await clock.sleep(settleMs, patience.signal);
  const { rssMib, anonMib } = memoryOf(pid);
  to.record(`rss${as}`, rssMib);
  to.record(`anon${as}`, anonMib);
}
