// SPDX-License-Identifier: Apache-2.0
/**
 * The cost of the runtime. Every measurement runs in its own process, most of them several times. It prints a table with
 * the budgets and writes it into its section of bench/README.md; it asserts nothing.
 */
import { fork } from 'node:child_process';
import { machine, rewriteSection } from '../page.ts';
import { mediansOf, type Row, tableOf } from './report.ts';

/** The number of runs for rates and latencies. Maxima over some seconds are measured once. */
const rounds = 3;

/** The rows of a measurement; undefined when the process died. */
function measure(
  file: string,
  args: readonly string[],
  flags: readonly string[] = [],
): Promise<readonly Row[] | undefined> {
  const child = fork(new URL(file, import.meta.url), args, {
    execArgv: ['--expose-gc', ...flags],
    stdio: ['ignore', 'inherit', 'ignore', 'ipc'],
  });
  let rows: readonly Row[] | undefined;
  child.on('message', (message) => (rows = message as readonly Row[]));
  return new Promise((resolve) => child.on('exit', (code) => resolve(code === 0 ? rows : undefined)));
}

async function measureOnce(file: string, args: readonly string[]): Promise<readonly Row[]> {
  return (await measure(file, args)) ?? failed(file);
}

/** The medians of several processes that measure the same. */
async function measureOften(file: string, args: readonly string[]): Promise<readonly Row[]> {
  const runs: (readonly Row[])[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const rows = await measure(file, args);
    if (rows === undefined) return failed(file);
    runs.push(rows);
  }
  return mediansOf(runs);
}

/** M3: the smallest heap limit, to 16 MB, with which a sync of 50,000 volumes survives. */
async function smallestHeap(mode: 'streamed' | 'listed'): Promise<Row> {
  let [dies, lives] = [32, 160];
  while (lives - dies > 16) {
    const limit = (dies + lives) / 2;
    const flags = [`--max-old-space-size=${limit}`, '--max-semi-space-size=4'];
    if ((await measure('./sync.ts', [mode, '50000'], flags)) === undefined) dies = limit;
    else lives = limit;
  }
  const measured = `M3 50,000 PVs ${mode}: smallest heap limit that survives`;
  return { measure: measured, value: lives, unit: 'MB', budget: { atMost: 128 } };
}

const failed = (file: string): readonly Row[] => [{ measure: `${file} failed`, value: NaN, unit: '' }];

const all: Row[] = [];
const add = (rows: readonly Row[]): void => {
  all.push(...rows);
  console.log(tableOf(rows));
};

for (const kind of ['PersistentVolume', 'PersistentVolumeClaim', 'VolumeAttachment', 'Pod']) {
  for (const variant of ['cached', ...(kind === 'Pod' ? ['projected'] : [])]) {
    add(await measureOnce('./memory.ts', [kind, variant]));
  }
}
for (const mode of ['streamed', 'listed'] as const) {
  add([await smallestHeap(mode)]);
  add(await measureOften('./sync.ts', [mode, '50000']));
}
add(await measureOnce('./after-sync.ts', []));
add(await measureOften('./events.ts', []));
add(await measureOften('./start.ts', []));
add(await measureOnce('./allocation.ts', []));
add(await measureOften('./queue.ts', []));

const setting = `Node.js ${process.version}; ${machine}; rates, times and latencies are medians of ${rounds} runs.`;
rewriteSection('runtime', `${setting}\n\n${tableOf(all)}`);
