// SPDX-License-Identifier: Apache-2.0
/**
 * M6: changes through decoder, store, two indexes, two handlers and a work queue: as many as go through from memory, and
 * how long each takes from the server's write to the handler at 5,000 a second over loopback.
 */
import {
  createInformer,
  createWorkQueue,
  itemExponential,
  keyOf,
  type ApiClient,
  type Informer,
  type KubeObject,
  type ObjectKey,
  type PersistentVolume,
  persistentVolumes,
  silentLogger,
  systemClock,
  systemRandom,
} from '@csi-sidecars/runtime';
import { feed, serveCollection } from './collections.ts';
import { quantile, tell } from './report.ts';

const clock = systemClock();
const objects = 10_000;
const changes = 30_000;

function anInformer(client: Pick<ApiClient, 'stream'>, labelSelector: string): Informer<PersistentVolume> {
  return createInformer<PersistentVolume>(
    { client, clock, random: systemRandom(), logger: silentLogger },
    {
      resource: persistentVolumes,
      labelSelector,
      indexers: {
        handle: ({ spec }) => [spec?.csi?.volumeHandle ?? ''],
        claim: ({ spec }) => [`${spec?.claimRef?.namespace}/${spec?.claimRef?.name}`],
      },
    },
  );
}

/** Both handlers enqueue; a worker takes what is queued. Resolves after `expected` updates. */
async function updatesOf(
  informer: Informer<PersistentVolume>,
  expected: number,
  onUpdate: (current: KubeObject) => void,
): Promise<void> {
  const queue = createWorkQueue<ObjectKey>(
    { clock },
    { rateLimiter: itemExponential({ baseMs: 1000, maxMs: 300_000 }) },
  );
  let updates = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const each of [1, 2]) {
    informer.addHandler({
      update: (_previous, current) => {
        queue.add(keyOf(current));
        if (each === 1) return;
        onUpdate(current);
        updates += 1;
        if (updates === expected) resolve();
      },
    });
  }
  const work = async (): Promise<void> => {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) queue.done(key);
  };
  const working = work();
  await promise;
  queue.shutDown();
  await working;
}

async function throughput(): Promise<number> {
  const stop = new AbortController();
  const informer = anInformer(feed({ kind: 'PersistentVolume', count: objects, changes }), '');
  let startMs = 0;
  const done = updatesOf(informer, changes, () => {
    if (startMs === 0) startMs = clock.monotonicMs();
  });
  void informer.run(stop.signal);
  await done;
  const seconds = (clock.monotonicMs() - startMs) / 1000;
  return changes / seconds;
}

async function latencies(perSecond: number): Promise<readonly number[]> {
  const seconds = 3;
  await using served = await serveCollection('PersistentVolume', objects);
  const stop = new AbortController();
  const informer = anInformer(served.client, `rate=${perSecond},seconds=${seconds}`);
  const seen: number[] = [];
  // The server writes its clock where nobody else does.
  const done = updatesOf(informer, perSecond * seconds, ({ metadata }) => {
    seen.push(performance.timeOrigin + performance.now() - Number(metadata?.generateName));
  });
  const running = informer.run(stop.signal);
  await done;
  stop.abort();
  await running;
  return seen.sort((a, b) => a - b);
}

const perSecond = await throughput();
const busy = await latencies(5000);
const calm = await latencies(200);
tell([
  { measure: 'M6 PV changes, from memory', value: perSecond, unit: 'events/s', budget: '>= 20,000' },
  { measure: 'M6 latency at 5,000/s, p50', value: quantile(busy, 0.5), unit: 'ms' },
  { measure: 'M6 latency at 5,000/s, p99', value: quantile(busy, 0.99), unit: 'ms', budget: '<= 50' },
  { measure: 'M7 latency at 200/s, p99', value: quantile(calm, 0.99), unit: 'ms', budget: '<= 5' },
]);
setImmediate(() => process.exit());
