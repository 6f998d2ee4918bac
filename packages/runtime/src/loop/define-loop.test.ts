// SPDX-License-Identifier: Apache-2.0
/** A small controller on the kit: it labels every PersistentVolume, waits for its class, and reports what it did. */
import { describe, expect, it } from 'vitest';
import {
  createFakeApiServer,
  FakeClock,
  recordingLogger,
  recordingMetrics,
  seededRandom,
  settle,
} from '../../testing/index.ts';
import { createApiClient } from '../api/create-client.ts';
import type { PersistentVolume, StorageClass } from '../api/objects.ts';
import { persistentVolumes, storageClasses } from '../api/resource.ts';
import { done, requeueAfter, retry } from '../controller/reconcile.ts';
import { createInformerFactory } from '../informer/factory.ts';
import type { ObjectKey } from '../informer/informer.ts';
import { keyOf, toObjectKey } from '../informer/key.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import { createWorkQueueMetrics } from '../workqueue/queue-metrics.ts';
import { type Attempt, attempt, isFailed } from './attempt.ts';
import { createController } from './create-controller.ts';
import { defineLoop } from './define-loop.ts';
import type { Conclusion, LoopSpec, LoopTypes, When } from './loop.ts';

interface State {
  readonly volume: PersistentVolume | undefined;
  readonly hasClass: boolean;
  readonly labelled: Attempt;
}
type Action = { readonly row: string; readonly kind: 'label'; readonly volume: PersistentVolume } | Conclusion;
interface Labels extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: { readonly volumes: PersistentVolume; readonly classes: StorageClass };
  readonly state: State;
  readonly action: Action;
}

const volume = (name: string): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name, uid: `uid-of-${name}` },
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi: { driver: 'd', volumeHandle: name } },
});
const fastClass: StorageClass = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'fast', uid: 'uid-of-fast' },
  provisioner: 'd',
};

const isLabelled = ({ metadata }: PersistentVolume): boolean => metadata?.labels?.['seen'] === 'yes';

const labels: LoopSpec<Labels> = {
  name: 'labels',
  settings: { workerThreads: 1, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 60_000 },
  watches: { volumes: { resource: persistentVolumes }, classes: { resource: storageClasses } },
  subject: { watch: 'volumes', keyOf },
  wakes: {
    volumes: ({ current }) => (current === undefined ? undefined : keyOf(current)),
    classes: ({ previous }, { volumes }) => (previous === undefined ? volumes.list().map(keyOf) : undefined),
  },
  observe: ({ volumes, classes }, key) => ({
    volume: volumes.get(key),
    hasClass: classes.size > 0,
    labelled: 'untried',
  }),
  decide: ({ volume: found, hasClass, labelled }) => {
    if (isFailed(labelled)) return { row: 'L5', kind: 'conclude', outcome: retry(labelled.failure) };
    if (found === undefined) return { row: 'L1', kind: 'conclude', outcome: done };
    if (!hasClass) return { row: 'L2', kind: 'conclude', outcome: requeueAfter(3_600_000) };
    if (isLabelled(found) || labelled === 'done') return { row: 'L3', kind: 'conclude', outcome: done };
    return { row: 'L4', kind: 'label', volume: found };
  },
  perform: {
    label: async ({ client, caches, key, signal }) => ({
      labelled: await attempt(async () => {
        const patch = { type: 'merge', body: { metadata: { labels: { seen: 'yes' } } } } as const;
        caches.volumes.remember(
          await client.patch({ resource: persistentVolumes, ref: { name: key } }, patch, { signal }),
        );
      }),
    }),
  },
};

async function running(overrides: Partial<LoopSpec<Labels>> = {}, seed = [volume('a')], classes = [fastClass]) {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const logger = recordingLogger();
  const metrics = recordingMetrics();
  const server = createFakeApiServer({ clock, random });
  for (const object of [...seed, ...classes]) server.seed(object);
  const client = createApiClient(
    { transport: server.transport, clock, logger },
    { userAgent: 'test', qps: -1, burst: 0 },
  );
  const informers = createInformerFactory({ client, clock, random, logger, objects: 'frozen' });
  const ports = { client, clock, random, logger, metrics, informers, queueMetrics: createWorkQueueMetrics(metrics) };
  const controller = createController(ports, [defineLoop<Labels>({ ...labels, ...overrides })]);
  const stop = new AbortController();
  const watching = informers.start(new AbortController().signal);
  const run = controller.run(stop.signal);
  await settle();
  await settle();
  return {
    server,
    clock,
    logger,
    writes: () => server.writes().map(({ verb, name, code }) => `${verb} ${name} ${code}`),
    rows: () => logger.lines.filter(({ message }) => message === 'Decided').map(({ facts }) => facts),
    failures: () => logger.lines.filter(({ message }) => message.startsWith('Reconcile')).map(({ facts }) => facts),
    stop: async (reason: Error = new OrderlyStop()) => {
      stop.abort(reason);
      await run;
      await informers.shutdown();
      await watching;
    },
  };
}

describe('a loop made from its specification', () => {
  it('given an object, then it is observed, decided on and written once, and every row is logged with its key', async () => {
    const loop = await running();
    expect(loop.writes()).toEqual(['patch a 200']);
    expect(loop.rows().slice(0, 2)).toEqual([
      { queue: 'labels', key: 'a', row: 'L4', action: 'label' },
      { queue: 'labels', key: 'a', row: 'L3', action: 'conclude' },
    ]);
    await loop.stop();
  });

  it('given an optional watch whose kind the server does not serve, then the loop works without it; otherwise it waits', async () => {
    const watches = { ...labels.watches, classes: { resource: { ...storageClasses, plural: 'none' } } };
    const waiting = await running({ watches });
    expect(waiting.rows()).toEqual([]);
    await waiting.stop();
    const working = await running({ watches, optional: ['classes'] });
    expect(working.rows().length).toBeGreaterThan(0);
    await working.stop();
  });

  it('given a key that waits for another object, when that object is added, then the keys that it concerns are woken', async () => {
    const loop = await running({}, [volume('a'), volume('b')], []);
    expect(loop.writes()).toEqual([]);
    loop.server.seed(fastClass);
    await settle();
    await settle();
    expect(loop.writes()).toEqual(['patch a 200', 'patch b 200']);
    await loop.stop();
  });

  it('given a watch that is switched off, then its cache is empty and nothing of it is read', async () => {
    const loop = await running({ watches: { ...labels.watches, classes: undefined } });
    expect(loop.rows()).toEqual([{ queue: 'labels', key: 'a', row: 'L2', action: 'conclude' }]);
    expect(loop.server.requests.some(({ resource }) => resource === 'storageclasses')).toBe(false);
    await loop.stop();
  });

  it('given a failing object that is deleted, when one of the same name is created, then its failures begin at one', async () => {
    const failing: Partial<LoopSpec<Labels>> = {
      perform: { label: () => ({ labelled: { failure: new Error('no') } }) },
      describe: ({ volumes }, key) => ({ uid: volumes.get(key)?.metadata?.uid }),
    };
    const loop = await running(failing);
    await loop.clock.advance(1_600);
    expect(loop.failures()).toEqual(
      [1, 2].map((failures) => ({ key: 'a', queue: 'labels', uid: 'uid-of-a', failures })),
    );
    loop.server.objects.remove(persistentVolumes, { name: 'a' });
    await settle();
    loop.server.seed({ ...volume('a'), metadata: { name: 'a', uid: 'another' } });
    await settle();
    await settle();
    expect(loop.failures().at(-1)).toEqual({ key: 'a', queue: 'labels', uid: 'another', failures: 1 });
    await loop.stop();
  });

  it('given a state that is observed again after a step, then the next decision uses it', async () => {
    const loop = await running({ observeAgain: () => ({ volume: undefined, labelled: 'untried' }) });
    expect(
      loop
        .rows()
        .map((facts) => facts?.['row'])
        .slice(0, 2),
    ).toEqual(['L4', 'L1']);
    await loop.stop();
  });

  it('given a run that concludes after a step, then its conclusion is reported once, with its last state, and then its end', async () => {
    const reports: unknown[] = [];
    const loop = await running({
      onConclude: ({ key, state, conclusion }) => reports.push([key, state.labelled, conclusion.row]),
      onEnd: ({ key, concluded }) => reports.push([key, concluded?.conclusion.row]),
    });
    expect(reports.slice(0, 2)).toEqual([
      ['a', 'done', 'L3'],
      ['a', 'L3'],
    ]);
    await loop.stop();
  });

  it('given a run that throws, then its end is reported without a conclusion, and it is repeated', async () => {
    const ended: unknown[] = [];
    const loop = await running({
      decide: () => {
        throw new Error('defect');
      },
      onConclude: () => ended.push('concluded'),
      onEnd: ({ key, concluded }) => ended.push([key, concluded]),
    });
    expect(ended).toEqual([['a', undefined]]);
    await loop.clock.advance(1_600);
    expect(ended.length).toBe(2);
    await loop.stop();
  });

  it('given an action that no function performs, then the run fails with the name of the action', async () => {
    const loop = await running({ perform: {} as never });
    const line = loop.logger.lines.find(({ message }) => message === 'Reconcile threw, will retry');
    expect(line?.kind === 'error' && String(line.error)).toBe('Error: labels: no function performs label');
    await loop.stop();
  });

  it('given a source, when it wakes a key now or rate limited, then it runs at once or after the delay', async () => {
    let wake: (key: ObjectKey, when?: When) => void = () => undefined;
    const loop = await running({ sources: [(given) => (wake = given)] }, []);
    const runs = (): number => loop.rows().length;
    wake(toObjectKey(undefined, 'x'));
    await settle();
    expect(runs()).toBe(1);
    wake(toObjectKey(undefined, 'x'), 'rateLimited');
    await settle();
    expect(runs()).toBe(1);
    await loop.clock.advance(1_600);
    expect(runs()).toBe(2);
    await loop.stop();
  });

  it('given keys with a last run, when the stop is orderly, then each runs once more; at any other stop none does', async () => {
    const lastRuns = (): readonly ObjectKey[] => [toObjectKey(undefined, 'last')];
    const orderly = await running({ lastRuns }, []);
    await orderly.stop();
    expect(orderly.rows()).toEqual([{ queue: 'labels', key: 'last', row: 'L1', action: 'conclude' }]);
    const cut = await running({ lastRuns }, []);
    await cut.stop(new Error('lease lost'));
    expect(cut.rows()).toEqual([]);
  });
});
