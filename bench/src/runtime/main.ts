// SPDX-License-Identifier: Apache-2.0
/**
 * What the runtime costs. Every measurement runs in a process of its own; prints a table, writes
 * it into its section of bench/README.md, asserts nothing.
 */
import { fork } from 'node:child_process';
import { cpus } from 'node:os';
import { rewriteSection } from '../page.ts';
import { type Row, printTable, tableOf } from './report.ts';

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

/** M3: the smallest heap limit, to 8 MB, with which a sync of 50,000 volumes survives. */
async function smallestHeap(mode: 'streamed' | 'listed'): Promise<Row> {
  let [dies, lives] = [16, 512];
  while (lives - dies > 8) {
    const limit = Math.round((dies + lives) / 16) * 8;
    const flags = [`--max-old-space-size=${limit}`, '--max-semi-space-size=4'];
    if ((await measure('./sync.ts', [mode, '50000'], flags)) === undefined) dies = limit;
    else lives = limit;
  }
  return { measure: `M3 50,000 PVs ${mode}: smallest heap limit`, value: lives, unit: 'MB', budget: '<= 128' };
}

const all: Row[] = [];
const add = (rows: readonly Row[]): void => {
  all.push(...rows);
  printTable(rows);
};
const report = async (rows: Promise<readonly Row[] | undefined>): Promise<void> => {
  add((await rows) ?? [{ measure: 'a measurement failed', value: NaN, unit: '' }]);
};

for (const kind of ['PersistentVolume', 'PersistentVolumeClaim', 'VolumeAttachment', 'Pod']) {
  for (const variant of ['parsed', 'cached', ...(kind === 'Pod' ? ['projected'] : [])]) {
    await report(measure('./memory.ts', [kind, variant]));
  }
}
for (const mode of ['streamed', 'listed'] as const) {
  await report(measure('./sync.ts', [mode, '50000']));
  add([await smallestHeap(mode)]);
}
await report(measure('./events.ts', []));
await report(measure('./queue.ts', []));

const machine = cpus();
const setting = `Node.js ${process.version}; ${machine.length} cores (${machine[0]?.model.trim() ?? process.arch}).`;
rewriteSection('runtime', `${setting}\n\n${tableOf(all)}`);
