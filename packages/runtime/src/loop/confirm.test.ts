// SPDX-License-Identifier: Apache-2.0
/** A loop that labels volumes, and an API server whose answers to its writes are lost. */
import { describe, expect, it } from 'vitest';
import {
  createFakeApiServer,
  FakeClock,
  type Fault,
  type FaultRule,
  recordingLogger,
  recordingMetrics,
  script,
  seededRandom,
  settle,
  withFaults,
} from '../../testing/index.ts';
import { createApiClient } from '../api/create-client.ts';
import type { Node, PersistentVolume, StorageClass } from '../api/objects.ts';
import { persistentVolumes, storageClasses } from '../api/resource.ts';
import { writeObject } from '../api/write-object.ts';
import { type Conclusion, done, retry } from '../controller/reconcile.ts';
import { createInformerFactory } from '../informer/factory.ts';
import { keyOf, type ObjectKey, toObjectKey } from '../informer/key.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import { createWorkQueueMetrics } from '../workqueue/queue-metrics.ts';
import { createController } from './create-controller.ts';
import { defineLoop } from './define-loop.ts';
import { conclude, orEnd, perform } from './flow.ts';
import type { Caches, LoopTypes, Run } from './loop.ts';

interface Labels extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: { readonly volumes: PersistentVolume; readonly classes: StorageClass; readonly nodes: Node };
  readonly observed: { readonly volume: PersistentVolume | undefined };
  readonly conclusion: Conclusion;
}

async function label({ client, caches, signal }: Run<Labels>, found: PersistentVolume): Promise<void> {
  const target = { resource: persistentVolumes, ref: { name: found.metadata?.name ?? '' } };
  const patch = { type: 'merge', body: { metadata: { labels: { seen: 'yes' } } } } as const;
  await writeObject(caches.volumes, found, () => client.patch(target, patch, { signal }));
}

const volume = (name: string): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi: { driver: 'd', volumeHandle: name } },
});
const lostAfter: Fault = { kind: 'break', point: 'after', failure: 'reset' };
const lostBefore: Fault = { kind: 'break', point: 'before', failure: 'reset' };
const on = (verb: 'patch' | 'read', fault: Fault, times = 1): FaultRule => ({
  when: (it) => (verb === 'patch' ? it.verb === verb : nameRead(it.request.path) !== undefined),
  fault,
  times,
});
/** An object is read by listing it by its name. */
const nameRead = (path: string): string | undefined => /metadata\.name=(\w+)/.exec(decodeURIComponent(path))?.[1];

type Find = (caches: Caches<Labels>, key: ObjectKey) => PersistentVolume | undefined;

/** The watch is deaf: what the cache learns after its start it learns from answers. */
async function running(faults: readonly FaultRule[], find: Find = ({ volumes }, key) => volumes.get(key)) {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const logger = recordingLogger();
  const metrics = recordingMetrics();
  const server = createFakeApiServer({ clock, random });
  for (const name of ['a', 'b']) server.seed(volume(name));
  const deaf: FaultRule = { when: (it) => it.verb === 'watch', fault: { kind: 'lag', ms: 3_600_000 }, times: Infinity };
  const transport = withFaults(server.transport, { clock, decide: script([...faults, deaf]) });
  const client = createApiClient({ transport, clock, logger }, { userAgent: 'test', qps: -1, burst: 0 });
  const informers = createInformerFactory({ client, clock, random, logger, streaming: 'off' });
  const ports = { client, clock, random, logger, metrics, informers, queueMetrics: createWorkQueueMetrics(metrics) };
  let observed = 0;
  const loop = defineLoop<Labels>({
    name: 'labels',
    settings: { workerThreads: 1, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 8_000, resyncMs: 0 } as never,
    watches: {
      volumes: { resource: persistentVolumes, indexers: { name: ({ metadata }) => [metadata?.name ?? ''] } },
      classes: { resource: storageClasses },
      nodes: undefined,
    },
    handlers: { volumes: ({ current }) => current && keyOf(current) },
    observe: (caches, key) => {
      observed += 1;
      return { volume: caches.nodes.get(key) === undefined ? find(caches, key) : undefined };
    },
    flow: function* ({ volume: found }) {
      if (found === undefined || found.metadata?.labels?.['seen'] !== undefined) return conclude('L2', done);
      yield* orEnd(perform('L3', label, found), (failure) => conclude('L1', retry(failure)));
      return conclude('L2', done);
    },
  });
  const controller = createController(ports, [loop]);
  const stop = new AbortController();
  const watching = informers.start(new AbortController().signal);
  const run = controller.run(stop.signal);
  for (let turn = 0; turn < 5; turn++) await settle();
  return {
    clock,
    server,
    requests: () =>
      server.requests
        .map(({ verb, path, name, code }) =>
          verb === 'patch' ? `patch ${name} ${code}` : verb === 'list' && `read ${nameRead(path)}`,
        )
        .filter((line) => line !== false && line !== 'read undefined'),
    failures: () =>
      logger.lines.filter(({ message }) => message.startsWith('Reconcile')).map(({ facts }) => facts?.['key']),
    observed: () => observed,
    end: async (reason: Error = new OrderlyStop()) => {
      stop.abort(reason);
      await run;
      await informers.shutdown();
      await watching;
    },
  };
}

it('given no write without an answer, then a run observes once', async () => {
  const loop = await running([]);
  expect([loop.requests(), loop.observed()]).toEqual([['patch a 200', 'patch b 200'], 2]);
  await loop.end();
});

describe('a run after a write without an answer', () => {
  it('given an object that is being read, when the process must stop at once, then it does not wait for the answer', async () => {
    const loop = await running([on('patch', lostBefore), on('read', { kind: 'hang', point: 'before' })]);
    await loop.clock.advance(1_200);
    let hasEnded = false;
    const ended = loop.end(new Error('lease lost')).then(() => (hasEnded = true));
    for (let turn = 0; turn < 5; turn++) await settle();
    expect(hasEnded).toBe(true);
    await ended;
  });

  it('[runtime#203, 204] given the write happened, then the object is read by a list of its name, and nothing is written again', async () => {
    const loop = await running([on('patch', lostAfter)]);
    await loop.clock.advance(1_200);
    expect(loop.requests()).toEqual(['patch a 200', 'patch b 200', 'read a']);
    await loop.end();
  });

  it('[runtime#204] given the write did not happen, then the object is read, and the write is made', async () => {
    const loop = await running([on('patch', lostBefore)]);
    await loop.clock.advance(1_200);
    expect(loop.requests()).toEqual(['patch b 200', 'read a', 'patch a 200']);
    await loop.end();
  });

  it('[runtime#204] given the object cannot be read, then nothing is decided before it can, and other keys do not wait', async () => {
    const unavailable: Fault = { kind: 'status', point: 'before', code: 503 };
    const loop = await running([on('patch', lostBefore), on('read', unavailable, 2)]);
    await loop.clock.advance(8_000);
    expect(loop.requests()).toEqual(['patch b 200', 'read a', 'patch a 200']);
    expect(loop.failures()).toEqual(['a', 'a', 'a']);
    await loop.end();
  });

  it('[runtime#202] given the object is gone by now, then the run sees that before the watch shows it', async () => {
    const loop = await running([on('patch', lostBefore)]);
    loop.server.objects.remove(persistentVolumes, { name: 'a' });
    await loop.clock.advance(1_200);
    expect(loop.requests()).toEqual(['patch b 200', 'read a']);
    await loop.end();
  });

  it.each<{ readonly how: string; readonly find: Find }>([
    {
      how: 'another object that it leads to',
      find: ({ volumes }, key) => volumes.get(key) && volumes.get(toObjectKey(undefined, 'a')) && volumes.get(key),
    },
    { how: 'an index', find: ({ volumes }, key) => volumes.byIndex('name', key)[0] },
    {
      how: 'the whole list',
      find: ({ volumes }, key) =>
        volumes.size > 0 ? volumes.list().find((it) => it.metadata?.name === key) : undefined,
    },
  ])(
    '[runtime#204] given a run that looks through $how, then every object in doubt is read before it, whatever its key is',
    async ({ find }) => {
      const loop = await running([on('patch', lostAfter, 2)], find);
      await loop.clock.advance(1_200);
      expect(loop.requests()).toEqual(['patch a 200', 'read a', 'patch b 200', 'read b']);
      await loop.end();
    },
  );
});
