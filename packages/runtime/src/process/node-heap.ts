// SPDX-License-Identifier: Apache-2.0
/**
 * V8's heap and compilers in this process, controlled by the few flags that V8 reads each time it uses them. Most flags that size a heap
 * are read once, before any program runs. No failure here ends a program: if a later V8 does not know a flag, the heap has
 * V8's own size, and the test of this file fails.
 */
import { performance } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { HeapPort } from './heap.ts';
import type { CompilerPort } from './late-optimisation.ts';

/** The size of both halves. Twice the size is no faster, and half the size costs 5 percent of the CPU time. */
const grownBytes = 16 * 2 ** 20;
/** The smallest size of both halves. V8 does not count a half that is still empty. */
const firstBytes = 2 * 2 ** 20;
/** V8's own value: bytecode that has not run for so many collections is dropped. */
const usualBytecodeAge = 6;

export interface HeapOptions {
  /** `small`: it never grows, and is collected without helper threads. For a program that makes few objects, and passes bytes on. Default: `growing`. */
  readonly young?: 'growing' | 'small';
}

/**
 * Stops V8 from growing the young generation by itself. Call it after the modules of a program are loaded: V8 accepts the
 * compiled code of Node.js' own modules only while its flags are those that Node.js was built with, and to compile these
 * modules again costs 20 ms.
 */
export function nodeHeap({ young = 'growing' }: HeapOptions = {}): HeapPort {
  setYoungGrowthFactor(1);
  if (young === 'small') collectYoungAlone();
  let utilization = performance.eventLoopUtilization();
  return {
    busyShare() {
      const now = performance.eventLoopUtilization();
      const { utilization: share } = performance.eventLoopUtilization(now, utilization);
      utilization = now;
      return share;
    },
    committedBytes: () => getHeapStatistics().total_heap_size,
    growYoungGeneration: young === 'small' ? () => undefined : growYoungGeneration,
    collect: () => {
      // Code that has run once, as most of a start has, is compiled again if it runs once more.
      setFlagsFromString('--bytecode-old-age=1');
      collector()({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      setFlagsFromString(`--bytecode-old-age=${usualBytecodeAge}`);
    },
  };
}

/** Maglev compiles quickly and Turbofan slowly; what Turbofan compiles runs faster. */
export type Compiler = 'maglev' | 'turbofan';

/** Switches these optimizing compilers off. What they have compiled stays. Call it after the modules of a program are loaded, as `nodeHeap`. */
export function nodeCompilers(late: readonly Compiler[]): CompilerPort {
  for (const compiler of late) setFlagsFromString(`--no-${compiler}`);
  return {
    cpuMs: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    optimise: () => {
      for (const compiler of late) setFlagsFromString(`--${compiler}`);
    },
  };
}

/** V8 multiplies the size when more objects survive than fit. This creates such objects, at most four times as many as needed. */
function growYoungGeneration(): void {
  setYoungGrowthFactor(Math.max(1, Math.floor(grownBytes / Math.max(firstBytes, youngBytes()))));
  const survivors: unknown[] = [];
  while (survivors.length < 32 && youngBytes() < grownBytes) {
    for (let n = 0; n < 8; n += 1) survivors.push(Array.from({ length: 16_000 }, () => 0));
  }
  setYoungGrowthFactor(1);
}

/** Exported for the test that V8 still follows the flags. */
export function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
}

/**
 * Two MiB are collected in 0.3 ms by one thread. V8 shares this work with helper threads, and the program stands still until the last of
 * them has got a CPU: 50 to 100 ms on a busy machine.
 */
function collectYoungAlone(): void {
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--no-concurrent-array-buffer-sweeping');
}

function setYoungGrowthFactor(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

type Collect = (options: {
  readonly type: 'major';
  readonly execution: 'sync';
  readonly flavor: 'last-resort';
}) => void;

/** V8 exposes its collector in new contexts only, and only while the flag is set. */
function collector(): Collect {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as Collect;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
