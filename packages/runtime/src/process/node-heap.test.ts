// SPDX-License-Identifier: Apache-2.0
/** Runs V8 in a process of its own, to see whether the Node.js in use still follows the flags; then what V8 is asked for. */
import { execFile } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import v8 from 'node:v8';
import vm from 'node:vm';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { nodeHeap, youngBytes } from './node-heap.ts';

const MiB = 2 ** 20;
const program = `
  import { getHeapStatistics } from 'node:v8';
  import { nodeHeap, youngBytes } from ${JSON.stringify(join(import.meta.dirname, 'node-heap.ts'))};
  const heap = nodeHeap();
  const sizes = {};
  const work = () => {
    for (let round = 0; round < 40; round += 1) Array.from({ length: 50_000 }, (_, n) => ({ n, list: [n] }));
  };
  work();
  sizes.held = youngBytes();
  heap.growYoungGeneration();
  sizes.grown = youngBytes();
  work();
  sizes.heldGrown = youngBytes();
  sizes.before = heap.committedBytes();
  heap.collect();
  sizes.after = heap.committedBytes();
  sizes.used = getHeapStatistics().used_heap_size;
  sizes.young = youngBytes();
  sizes.collectorIsHidden = typeof gc === 'undefined';
  heap.busyShare();
  const end = performance.now() + 50;
  setTimeout(() => {
    sizes.busy = heap.busyShare();
    console.log(JSON.stringify(sizes));
  }, 100);
  setImmediate(() => {
    while (performance.now() < end);
  });
`;

it('given the Node.js in use, when the young generation is held at its size, grown and collected, then its size follows', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  const sizes = JSON.parse(stdout) as Readonly<Record<string, number>>;
  const { held = NaN, grown = NaN, heldGrown, young, before = NaN, after = NaN } = sizes;
  // On a busy machine V8 may have grown by one step before it is held, so that fewer steps are left. Without the flag it grows to 64 MiB.
  expect(held).toBeLessThanOrEqual(8 * MiB);
  expect(grown).toBeGreaterThan(held);
  expect(grown).toBeLessThanOrEqual(16 * MiB);
  expect(heldGrown).toBe(grown);
  expect(young).toBeLessThanOrEqual(held);
  expect(before - after).toBeGreaterThanOrEqual(grown - held);
  expect(sizes['collectorIsHidden']).toBe(true);
  expect(after - sizes['used']!).toBeLessThan(4 * MiB);
  expect(sizes['busy']).toBeGreaterThan(0);
});

const started = `
  import { getHeapCodeStatistics } from 'node:v8';
  import { nodeHeap } from ${JSON.stringify(join(import.meta.dirname, 'node-heap.ts'))};
  const bytes = () => getHeapCodeStatistics().bytecode_and_metadata_size;
  gc();
  const before = bytes();
  nodeHeap().collect();
  console.log(JSON.stringify({ before, after: bytes() }));
`;

it('given the Node.js in use, when it is collected after a start, then the bytecode of what has run once is dropped', async () => {
  const args = ['--expose-gc', '--input-type=module', '--eval', started];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { before = NaN, after } = JSON.parse(stdout) as Readonly<Record<string, number>>;
  expect(after).toBeLessThan(before / 2);
});

const optimised = `
  import { nodeCompilers } from ${JSON.stringify(join(import.meta.dirname, 'node-heap.ts'))};
  import { getHeapStatistics, setFlagsFromString } from 'node:v8';
  import { runInThisContext } from 'node:vm';
  setFlagsFromString('--allow-natives-syntax');
  const status = runInThisContext('(run) => %GetOptimizationStatus(run)');
  // Bits of V8.
  const isMaglevved = (run) => (status(run) & 2 ** 5) !== 0;
  const isTurbofanned = (run) => (status(run) & 2 ** 6) !== 0;
  const work = (run, ms) => {
    const endMs = performance.now() + ms;
    while (!isTurbofanned(run) && performance.now() < endMs) run(1);
    return { maglev: isMaglevved(run), turbofan: isTurbofanned(run) };
  };
  // Else it would be compiled with what it calls, which then is never compiled by itself.
  runInThisContext('(run) => %NeverOptimizeFunction(run)')(work);
  const compilers = nodeCompilers(JSON.parse(process.argv[1]));
  const early = work((n) => n * 2 + 1, 1000);
  compilers.optimise();
  const late = work((n) => n * 3 + 1, 10_000);
  console.log(JSON.stringify({ early, late, cpuMs: compilers.cpuMs() }));
`;

it.each([
  { late: ['turbofan'], early: { maglev: true, turbofan: false } },
  { late: ['maglev', 'turbofan'], early: { maglev: false, turbofan: false } },
])(
  'given the Node.js in use, when its compilers $late are late, then they compile nothing before they are switched on',
  async ({ late, early }) => {
    const args = ['--input-type=module', '--eval', optimised, JSON.stringify(late)];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const { cpuMs, ...rest } = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
    expect(rest).toEqual({ early, late: { maglev: false, turbofan: true } });
    expect(cpuMs).toBeGreaterThan(10);
  },
  60_000,
);

/** Counts how often the threads of V8 have woken while 180 MiB of buffers came and went. */
const churn = `
  import { readdirSync, readFileSync } from 'node:fs';
  import { PerformanceObserver } from 'node:perf_hooks';
  import { nodeHeap } from ${JSON.stringify(join(import.meta.dirname, 'node-heap.ts'))};
  nodeHeap({ young: process.argv[1] });
  let collections = 0;
  new PerformanceObserver((list) => (collections += list.getEntries().length)).observe({ entryTypes: ['gc'] });
  const wakes = () => {
    let sum = 0;
    for (const task of readdirSync('/proc/self/task')) {
      if (readFileSync('/proc/self/task/' + task + '/comm', 'latin1').trim() !== 'V8Worker') continue;
      const status = readFileSync('/proc/self/task/' + task + '/status', 'latin1');
      sum += Number(/\\nvoluntary_ctxt_switches:\\s*([0-9]+)/.exec(status)[1]);
    }
    return sum;
  };
  const before = wakes();
  let kept = [];
  for (let round = 0; round < 60_000; round += 1) {
    kept.push(Buffer.from(Buffer.allocUnsafeSlow(3_000)), { round });
    if (kept.length > 400) kept = [];
    if (round % 1_000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  console.log(JSON.stringify({ collections, wakes: wakes() - before }));
`;

it.runIf(process.platform === 'linux')(
  'given a young generation that stays small, then the program collects it alone, and no helper thread is woken for it; by default they are',
  async () => {
    const wakesEach = async (young: string): Promise<number> => {
      const args = ['--input-type=module', '--eval', churn, young];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const { collections, wakes } = JSON.parse(stdout) as { readonly collections: number; readonly wakes: number };
      expect(collections).toBeGreaterThan(10);
      return wakes / collections;
    };
    const [alone, shared] = [await wakesEach('small'), await wakesEach('growing')];
    // Full collections wake them either way. On a busy machine one wake serves several tasks: then it is half as many more, and double else.
    expect(shared).toBeGreaterThan(1.4 * alone);
  },
);

describe('what V8 is asked for', () => {
  /** V8 that reports these sizes of its young generation, the last one again and again. `asked` has flags and collections, in order. */
  function aV8({ youngMib }: { readonly youngMib: readonly (number | undefined)[] }) {
    const left = youngMib.map((mib) => (mib === undefined ? [] : [{ space_name: 'new_space', space_size: mib * MiB }]));
    const old = { space_name: 'old_space', space_size: 3 * MiB };
    const asked: unknown[] = [];
    vi.spyOn(v8, 'setFlagsFromString').mockImplementation((flag) => void asked.push(flag));
    vi.spyOn(v8, 'getHeapSpaceStatistics').mockImplementation(
      () => [old, ...((left.length > 1 ? left.shift() : left[0]) ?? [])] as v8.HeapSpaceInfo[],
    );
    vi.spyOn(v8, 'getHeapStatistics').mockReturnValue({ total_heap_size: 123 } as v8.HeapInfo);
    vi.spyOn(vm, 'runInNewContext').mockImplementation((code) => {
      asked.push(code);
      return (options: object) => asked.push(options);
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    return asked;
  }
  const factor = (n: number): string => `--semi-space-growth-factor=${n}`;

  it.each([
    { youngMib: [undefined], first: 8, allocatedKib: 4000 },
    { youngMib: [1], first: 8, allocatedKib: 4000 },
    { youngMib: [4], first: 4, allocatedKib: 4000 },
    { youngMib: [4, 4, 8, 16], first: 4, allocatedKib: 2000 },
    { youngMib: [15], first: 1, allocatedKib: 4000 },
    { youngMib: [16], first: 1, allocatedKib: 0 },
    { youngMib: [40], first: 1, allocatedKib: 0 },
  ])(
    'given a young generation of $youngMib MiB, when it is grown, then it may multiply by $first meanwhile, and $allocatedKib KiB are allocated',
    ({ youngMib, first, allocatedKib }) => {
      const asked = aV8({ youngMib });
      const allocate = vi.spyOn(Array, 'from');
      nodeHeap().growYoungGeneration();
      expect(asked).toEqual([factor(1), factor(first), factor(1)]);
      const lengths = allocate.mock.results.map(({ value }) => (value as readonly unknown[]).length);
      expect((lengths.reduce((sum, length) => sum + length, 0) * 8) / 1024).toBe(allocatedKib);
    },
  );

  it('given a young generation that stays small, then it is collected by one thread, and is not grown', () => {
    const asked = aV8({ youngMib: [1] });
    nodeHeap({ young: 'small' }).growYoungGeneration();
    expect(asked).toEqual([factor(1), '--no-parallel-scavenge', '--no-concurrent-array-buffer-sweeping']);
  });

  it('given a V8 without a young generation, then its size is 0', () => {
    aV8({ youngMib: [undefined] });
    expect(youngBytes()).toBe(0);
  });

  it('given a collection, then everything is collected and pages are returned, and the collector is hidden again', () => {
    const asked = aV8({ youngMib: [1] });
    const heap = nodeHeap();
    expect(heap.committedBytes()).toBe(123);
    heap.collect();
    const options = { type: 'major', execution: 'sync', flavor: 'last-resort' };
    const hidden = ['--expose-gc', 'gc', '--no-expose-gc', options];
    expect(asked).toEqual([factor(1), '--bytecode-old-age=1', ...hidden, '--bytecode-old-age=6']);
  });

  it('given the use of the event loop, then the busy share is that since the last call', () => {
    aV8({ youngMib: [1] });
    let active = 0;
    const use = (utilization: number) => ({ active, idle: 0, utilization });
    vi.spyOn(performance, 'eventLoopUtilization').mockImplementation((now, before) =>
      use(now === undefined || before === undefined ? 1 : now.active - before.active),
    );
    const heap = nodeHeap();
    const shares = [0.25, 1, 1.5].map((at) => {
      active = at;
      return heap.busyShare();
    });
    expect(shares).toEqual([0.25, 0.75, 0.5]);
  });
});
