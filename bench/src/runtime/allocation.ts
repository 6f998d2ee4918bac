// SPDX-License-Identifier: Apache-2.0
/** M12: how much an informer with 10,000 volumes allocates when idle and at 1,000 changes a second, and the cost of collecting it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { GCProfiler } from 'node:v8';
import { connectTo, startServer } from './collections.ts';
import { startPipeline } from './pipeline.ts';
import { quantile } from '../side-by-side/measures.ts';
import { reportRows } from './report.ts';

const objects = 10_000;
const idleSeconds = 5;
const busySeconds = 5;

interface Allocation {
  readonly kbPerSecond: number;
  readonly pausesMs: readonly number[];
}

async function allocatedIn(seconds: number, work: () => Promise<unknown>): Promise<Allocation> {
  globalThis.gc?.();
  const profiler = new GCProfiler();
  profiler.start();
  let used = process.memoryUsage().heapUsed;
  let allocated = 0;
  await work();
  const end = process.memoryUsage().heapUsed;
  const { statistics } = profiler.stop();
  for (const { beforeGC, afterGC } of statistics) {
    allocated += beforeGC.heapStatistics.usedHeapSize - used;
    used = afterGC.heapStatistics.usedHeapSize;
  }
  allocated += end - used;
  const pausesMs = statistics.map(({ cost }) => cost / 1000);
  return { kbPerSecond: allocated / 1000 / seconds, pausesMs };
}

using server = await startServer('PersistentVolume', objects);
await using connection = await connectTo(server.address);
await using pipeline = startPipeline(connection.client);
await pipeline.informer.whenSynced(new AbortController().signal);
await sleep(1000);

const idle = await allocatedIn(idleSeconds, () => sleep(idleSeconds * 1000));
const busy = await allocatedIn(busySeconds, () => {
  const count = busySeconds * 1000;
  server.order({ kind: 'change', perSecond: 1000, count });
  return pipeline.updated(String(objects + count));
});
reportRows([
  { measure: 'M12 allocated when idle', value: idle.kbPerSecond, unit: 'KB/s', budget: { atMost: 100 } },
  { measure: 'M12 allocated at 1,000 changes/s', value: busy.kbPerSecond, unit: 'KB/s' },
  {
    measure: 'M12 collector pause at 1,000 changes/s, p99',
    value: quantile(busy.pausesMs, 0.99),
    unit: 'ms',
    budget: { atMost: 20 },
  },
]);
