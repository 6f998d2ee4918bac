// SPDX-License-Identifier: Apache-2.0
/**
 * What questions to `/debug/explain` cost a loop: the time from a change to the end of its run, alone, and while another process keeps 200
 * requests open. It prints a table and writes it into its section of bench/README.md; it asserts nothing.
 */
import { fork } from 'node:child_process';
import * as runtime from '@csi-sidecars/runtime';
import * as internal from '@csi-sidecars/runtime/internal';
import { machine, rewriteSection } from '../page.ts';
import { table } from '../side-by-side/report.ts';
import { callMs, columnsOf, startLoop } from './loop.ts';

const [rounds, seconds] = [5, Number(process.argv[2] ?? 20)];
const clock = runtime.systemClock();
using _alive = internal.keepAlive(clock);
const ports = { clock, random: runtime.systemRandom(), logger: runtime.silentLogger, metrics: runtime.noMetrics };
const inspection = internal.createInspection(ports, 'bench');
using _term = inspection.leads();
const page = { access: 'any', version: 'v0', hostName: 'bench', inspections: [inspection] } as const;
const routes = [internal.debugExplainRoute(ports, page)];
await using server = await internal.startDiagnosticsServer({ ...ports, address: '127.0.0.1:0', routes });
await using loop = startLoop({ ...ports, inspection });
const measure = () => loop.measure(clock.sleep(seconds * 1_000));

await measure();
const rows: (readonly string[])[] = [];
for (let round = 1; round <= rounds; round += 1) {
  const alone = await measure();
  const asker = fork(new URL('./asker.ts', import.meta.url), [String(server.port)]);
  const asked = await measure();
  asker.kill();
  rows.push([`round ${round}`, ...columnsOf(alone, asked)]);
}
const text = table(['', 'p50 alone', 'p99 alone', 'p50 asked', 'p99 asked', 'p99 asked / alone'], rows);
console.log(text);
const setting = `Node.js ${process.version}; ${machine}; 100 runs a second with a call of ${callMs} ms, ${seconds} s each; 200 requests at once.`;
rewriteSection('debug-explain', `${setting}\n\n${text}`);
