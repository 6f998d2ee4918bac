// SPDX-License-Identifier: Apache-2.0
/** The pipeline of a controller behind a watch: a cache with two indexes, two handlers that enqueue, a queue and one worker. */
import {
  type ApiClient,
  itemExponential,
  keyOf,
  type ObjectKey,
  type PersistentVolume,
  persistentVolumes,
  silentLogger,
  systemClock,
  systemRandom,
} from '@csi-sidecars/runtime';
import { type Informer } from '@csi-sidecars/runtime';
import { createWorkQueue } from '@csi-sidecars/runtime/internal';
import { createInformer } from '@csi-sidecars/runtime/internal';

export interface Pipeline extends AsyncDisposable {
  readonly informer: Informer<PersistentVolume>;
  /** Resolves when the last handler was called for this version, with the number of its update calls so far. */
  updated(resourceVersion: string): Promise<number>;
}

export interface PipelineOptions {
  readonly onUpdate?: (current: PersistentVolume) => void;
  /** Default: never. */
  readonly resyncMs?: number;
}

export function startPipeline(client: Pick<ApiClient, 'stream'>, options: PipelineOptions = {}): Pipeline {
  const clock = systemClock();
  const informer = createInformer<PersistentVolume>(
    { client, clock, random: systemRandom(), logger: silentLogger },
    {
      resource: persistentVolumes,
      resyncMs: options.resyncMs ?? 0,
      indexers: {
        handle: ({ spec }) => [spec?.csi?.volumeHandle ?? ''],
        claim: ({ spec }) => [`${spec?.claimRef?.namespace}/${spec?.claimRef?.name}`],
      },
    },
  );
  const queue = createWorkQueue<ObjectKey>(
    { clock },
    { rateLimiter: itemExponential({ baseMs: 1000, maxMs: 300_000 }) },
  );
  const work = async (): Promise<void> => {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) queue.done(key);
  };
  const awaited = new Map<string, (updates: number) => void>();
  let updates = 0;
  informer.addHandler({ update: (_previous, current) => queue.add(keyOf(current)) });
  informer.addHandler({
    update: (_previous, current) => {
      queue.add(keyOf(current));
      options.onUpdate?.(current);
      updates += 1;
      awaited.get(current.metadata?.resourceVersion ?? '')?.(updates);
    },
  });
  const stop = new AbortController();
  const running = Promise.all([work(), informer.run(stop.signal)]);
  return {
    informer,
    updated: (resourceVersion) => new Promise((resolve) => awaited.set(resourceVersion, resolve)),
    async [Symbol.asyncDispose]() {
      stop.abort();
      queue.shutDown();
      await running;
    },
  };
}
