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

interface BenchLoop extends runtime.LoopTypes {
  readonly key: string;
  readonly watched: object;
  readonly observed: { readonly key: string };
  readonly conclusion: runtime.Conclusion;
}

const [rounds, seconds, keys, callMs] = [5, Number(process.argv[2] ?? 20), 1_000, 5];
const clock = runtime.systemClock();
using _alive = internal.keepAlive(clock);
const ports = { clock, random: runtime.systemRandom(), logger: runtime.silentLogger, metrics: runtime.noMetrics };
const inspection = internal.createInspection(ports, 'bench');
using _term = inspection.leads();
const page = { access: 'any', version: 'v0', hostName: 'bench', inspections: [inspection] } as const;
const routes = [internal.debugExplainRoute(ports, page)];
await using server = await internal.startDiagnosticsServer({ ...ports, address: '127.0.0.1:0', routes });

const changedMs = new Map<string, number>();
const tookMs: number[] = [];
let wake: (key: string) => void = () => undefined;
const loop = runtime.defineLoop<BenchLoop>({
  name: 'bench',
  settings: { workerThreads: 10, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 60_000 },
  watches: {},
  handlers: {},
  sources: [(given) => void (wake = given)],
  observe: (_caches, key) => ({ key }),
  context: {},
  *flow({ key }) {
    yield* runtime.perform('B1', () => clock.sleep(callMs));
    tookMs.push(clock.monotonicMs() - (changedMs.get(key) ?? 0));
    return runtime.conclude('B2', runtime.done);
  },
});
const loopPorts = {
  client: {} as runtime.ApiClient,
  informers: {} as runtime.InformerFactory,
  queueMetrics: internal.createWorkQueueMetrics(ports.metrics),
};
const stop = new AbortController();
const running = runtime.createController({ ...ports, ...loopPorts, inspection }, [loop]).run(stop.signal);

/** Percentiles 50 and 99. */
async function measure(): Promise<readonly [number, number]> {
  tookMs.length = 0;
  for (let tick = 0; tick < seconds * 100; tick += 1) {
    const key = `key-${tick % keys}`;
    changedMs.set(key, clock.monotonicMs());
    wake(key);
    await clock.sleep(10);
  }
  const sorted = tookMs.toSorted((a, b) => a - b);
  return [sorted[Math.floor(sorted.length * 0.5)] ?? 0, sorted[Math.floor(sorted.length * 0.99)] ?? 0];
}

await measure();
const rows: string[][] = [];
for (let round = 1; round <= rounds; round += 1) {
  const alone = await measure();
  const asker = fork(new URL('./asker.ts', import.meta.url), [String(server.port)]);
  const asked = await measure();
  asker.kill();
  const ms = [...alone, ...asked].map((value) => `${value.toFixed(2)} ms`);
  rows.push([`round ${round}`, ...ms, (asked[1] / alone[1]).toFixed(2)]);
}
stop.abort();
await running;
const text = table(['', 'p50 alone', 'p99 alone', 'p50 asked', 'p99 asked', 'p99 asked / alone'], rows);
console.log(text);
const setting = `Node.js ${process.version}; ${machine}; 100 runs a second with a call of ${callMs} ms, ${seconds} s each; 200 requests at once.`;
rewriteSection('debug-explain', `${setting}\n\n${text}`);
