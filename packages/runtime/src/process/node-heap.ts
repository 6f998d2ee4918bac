// SPDX-License-Identifier: Apache-2.0
/**
 * V8's heap in this process, through the flags that it reads again each time: most of the flags that size a heap are read
 * once, before any program runs. Nothing here may fail a program: a flag that a later V8 does not know leaves the heap as
 * V8 likes it, and a test says so.
 */
import { performance } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { HeapPort } from './heap.ts';

/** Size of the two halves together. Twice as much is no faster, half as much costs 5 percent of the work. */
const grownBytes = 16 * 2 ** 20;
/** The smallest there is; V8 does not count a half that is still empty. */
const firstBytes = 2 * 2 ** 20;

/**
 * From here on V8 does not grow the young generation by itself. To be called when a program's modules are loaded: V8 takes
 * compiled code of Node.js' own modules only while its flags are those that Node.js was built with, and compiling them again
 * costs 20 ms.
 */
export function nodeHeap(): HeapPort {
  setYoungGrowthFactor(1);
  let utilization = performance.eventLoopUtilization();
  return {
    busyShare() {
      const now = performance.eventLoopUtilization();
      const { utilization: share } = performance.eventLoopUtilization(now, utilization);
      utilization = now;
      return share;
    },
    committedBytes: () => getHeapStatistics().total_heap_size,
    growYoungGeneration,
    collect: () => collector()({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  };
}

/** V8 multiplies the size when more survived than fits. It is offered that, at most four times what is needed. */
function growYoungGeneration(): void {
  setYoungGrowthFactor(Math.max(1, Math.floor(grownBytes / Math.max(firstBytes, youngBytes()))));
  const survivors: unknown[] = [];
  while (survivors.length < 32 && youngBytes() < grownBytes) {
    for (let n = 0; n < 8; n += 1) survivors.push(Array.from({ length: 16_000 }, () => 0));
  }
  setYoungGrowthFactor(1);
}

/** Exported for the test that shows V8 still obeys. */
export function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
}

function setYoungGrowthFactor(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

type Collect = (options: {
  readonly type: 'major';
  readonly execution: 'sync';
  readonly flavor: 'last-resort';
}) => void;

/** V8 gives its collector to new contexts only, and only while the flag is set. */
function collector(): Collect {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as Collect;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
