// SPDX-License-Identifier: Apache-2.0
/**
 * M6 and M7: changes through decoder, cache, two indexes, two handlers and a work queue: the throughput from memory,
 * and the latency from the server's write to the handler, over loopback, TLS and HTTP/2.
 */
import { connectTo, feed, startServer } from './collections.ts';
import { startPipeline } from './pipeline.ts';
import { quantile } from '../side-by-side/measures.ts';
import { reportRows } from './report.ts';

const kind = 'PersistentVolume';
const objects = 10_000;
const changes = 30_000;
const never = new AbortController().signal;

async function throughput(): Promise<number> {
  const pipeline = startPipeline(feed({ kind, count: objects, changes }));
  const last = pipeline.updated(String(objects + changes));
  await pipeline.informer.whenSynced(never);
  const startMs = performance.now();
  await last;
  return changes / ((performance.now() - startMs) / 1000);
}

/** The latencies; changes that did not arrive are missing. */
async function latencies(rate: { readonly perSecond: number; readonly count: number }): Promise<readonly number[]> {
  using server = await startServer(kind, objects);
  await using connection = await connectTo(server.address);
  const seen: number[] = [];
  await using pipeline = startPipeline(connection.client, {
    // The server writes the time into this field, which is otherwise unused.
    onUpdate: ({ metadata }) => seen.push(performance.timeOrigin + performance.now() - Number(metadata?.generateName)),
  });
  await pipeline.informer.whenSynced(never);
  globalThis.gc?.();
  const last = pipeline.updated(String(objects + rate.count));
  server.order({ kind: 'change', ...rate });
  await last;
  return seen;
}

const perSecond = await throughput();
const busy = { perSecond: 5000, count: 15_000 };
const underLoad = await latencies(busy);
const calm = await latencies({ perSecond: 50, count: 200 });
reportRows([
  { measure: 'M6 PV changes, from memory', value: perSecond, unit: 'events/s', budget: { atLeast: 20_000 } },
  { measure: 'M6 lost at 5,000/s', value: busy.count - underLoad.length, unit: 'events', budget: { atMost: 0 } },
  { measure: 'M6 latency at 5,000/s, p50', value: quantile(underLoad, 0.5), unit: 'ms' },
  { measure: 'M6 latency at 5,000/s, p99', value: quantile(underLoad, 0.99), unit: 'ms', budget: { atMost: 50 } },
  { measure: 'M7 latency of a single change, p99', value: quantile(calm, 0.99), unit: 'ms', budget: { atMost: 5 } },
]);
setImmediate(() => process.exit());
