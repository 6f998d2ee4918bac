// SPDX-License-Identifier: Apache-2.0
/**
 * M14: the cost of the work queue: add/get/done pairs per second, bytes per waiting and per delayed key, and reconciles per second
 * through the workers. It reports numbers and asserts nothing. Run with `--expose-gc`, or the bytes are an upper bound.
 */
import { done, itemExponential, OrderlyStop, silentLogger, systemClock } from '@csi-sidecars/runtime';
import { createWorkQueue, runWorkers } from '@csi-sidecars/runtime/internal';
import { type WorkQueue } from '@csi-sidecars/runtime/internal';
import { type Budget, type Row, reportRows } from './report.ts';

const pairs = 1_000_000;
const throughWorkersAtOnce = 100_000;
const keys: readonly string[] = Array.from({ length: pairs }, (_, index) => `namespace-${index % 100}/claim-${index}`);
const clock = systemClock();
// Flattens and hashes the keys once: in a controller the cache did that before the queue sees them.
void new Set(keys);

const aQueue = (): WorkQueue<string> =>
  createWorkQueue({ clock }, { rateLimiter: itemExponential({ baseMs: 1000, maxMs: 300_000 }) });

const rows: Row[] = [];
function report(measure: string, value: number, limit: { readonly unit: string; readonly budget?: Budget }): void {
  rows.push({ measure: `M14 ${measure}`, value, ...limit });
}

/** Measures a million pairs, in as many rounds as needed. */
async function perSecond(pairsPerRound: number, round: () => Promise<void>): Promise<number> {
  const startMs = clock.monotonicMs();
  for (let done = 0; done < pairs; done += pairsPerRound) await round();
  return pairs / ((clock.monotonicMs() - startMs) / 1000);
}

function heapBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** Adds so many keys first, then takes them all. */
async function deep(depth: number): Promise<void> {
  const queue = aQueue();
  for (let added = 0; added < depth; added += 1) queue.add(keys[added] ?? '');
  for (let taken = 0; taken < depth; taken += 1) queue.done((await queue.get()) ?? '');
}

/** Adds one key at a time, so the queue is always empty. */
async function shallow(): Promise<void> {
  const queue = aQueue();
  for (const key of keys) {
    queue.add(key);
    queue.done((await queue.get()) ?? '');
  }
}

async function throughWorkers(): Promise<void> {
  const queue = aQueue();
  const stop = new AbortController();
  const some = keys.slice(0, throughWorkersAtOnce);
  for (const key of some) queue.add(key);
  let left = some.length;
  const reconcile = (): Promise<typeof done> => {
    left -= 1;
    if (left === 0) stop.abort(new OrderlyStop());
    return Promise.resolve(done);
  };
  await runWorkers({ queue, reconcile, workers: 10, logger: silentLogger }, stop.signal);
}

function bytesPerKey(fill: (queue: WorkQueue<string>) => void): number {
  const queue = aQueue();
  const before = heapBytes();
  fill(queue);
  const after = heapBytes();
  queue.shutDown();
  return (after - before) / pairs;
}

report('add/get/done, empty queue', await perSecond(pairs, shallow), { unit: 'pairs/s', budget: { atLeast: 500_000 } });
for (const depth of [10_000, 100_000, 1_000_000]) {
  const rate = await perSecond(depth, () => deep(depth));
  report(`add/get/done, ${depth.toLocaleString('en')} keys waiting`, rate, {
    unit: 'pairs/s',
    budget: { atLeast: 500_000 },
  });
}
report('reconciles through 10 workers', await perSecond(throughWorkersAtOnce, throughWorkers), { unit: 'keys/s' });
const waiting = bytesPerKey((queue) => {
  for (const key of keys) queue.add(key);
});
report('memory of a waiting key (without the key)', waiting, { unit: 'B', budget: { atMost: 200 } });
const delayed = bytesPerKey((queue) => {
  for (const [index, key] of keys.entries()) queue.addAfter(key, 60_000 + index);
});
report('memory of a delayed key (without the key)', delayed, { unit: 'B' });
const failing = bytesPerKey((queue) => {
  for (const key of keys) queue.addRateLimited(key);
});
report('memory of a failed key (delay and counter)', failing, { unit: 'B' });
reportRows(rows);
