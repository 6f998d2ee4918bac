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
import { type Conclusion, done, requeueAfter, retry } from '../controller/reconcile.ts';
import { type LeaseGate, openGate } from '../controller/start-gate.ts';
import { createInformerFactory } from '../informer/factory.ts';
import { keyOf, type ObjectKey, toObjectKey } from '../informer/key.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import { createWorkQueueMetrics } from '../workqueue/queue-metrics.ts';
import { itemExponential } from '../workqueue/rate-limiters.ts';
import { createController } from './create-controller.ts';
import { defineLoop } from './define-loop.ts';
import { conclude, type Flow, orEnd, perform } from './flow.ts';
import type { LoopSpec, LoopTypes, Run, Primary, When } from './loop.ts';

interface Observed {
  readonly volume: PersistentVolume | undefined;
  readonly hasClass: boolean;
  readonly leftMs?: number;
}
interface Labels extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: { readonly volumes: PersistentVolume; readonly classes: StorageClass };
  readonly observed: Observed;
  readonly conclusion: Conclusion;
  readonly context: Patching;
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

interface Patching {
  readonly patch: { readonly type: 'merge'; readonly body: object };
}
type Labelling = (run: Run<Labels>, found: PersistentVolume) => unknown;

async function label({ client, caches, key, signal, context }: Run<Labels>): Promise<void> {
  const target = { resource: persistentVolumes, ref: { name: key } };
  caches.volumes.remember(await client.patch(target, context.patch, { signal }));
}

function labelWith(step: Labelling): LoopSpec<Labels>['flow'] {
  return function* ({ volume: found, hasClass }: Observed): Flow<Conclusion> {
    if (found === undefined) return conclude('L1', done);
    if (!hasClass) return conclude('L2', requeueAfter(3_600_000));
    if (isLabelled(found)) return conclude('L3', done);
    yield* orEnd(perform('L4', step, found), (failure) => conclude('L5', retry(failure)));
    return conclude('L3', done);
  };
}

const isLabelled = ({ metadata }: PersistentVolume): boolean => metadata?.labels?.['seen'] === 'yes';

const labels: LoopSpec<Labels> = {
  name: 'labels',
  settings: { workerThreads: 1, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 60_000 },
  watches: { volumes: { resource: persistentVolumes }, classes: { resource: storageClasses } },
  primary: { watch: 'volumes', keyOf },
  handlers: {
    volumes: ({ current }) => (current === undefined ? undefined : keyOf(current)),
    classes: ({ previous }, { volumes }) => (previous === undefined ? volumes.list().map(keyOf) : undefined),
  },
  observe: ({ volumes, classes }, key) => ({
    volume: volumes.get(key),
    hasClass: classes.size > 0,
  }),
  context: { patch: { type: 'merge', body: { metadata: { labels: { seen: 'yes' } } } } },
  flow: labelWith(label),
};

interface Setting {
  readonly volumes?: readonly string[];
  readonly classes?: readonly StorageClass[];
  readonly gate?: LeaseGate;
  readonly verbosity?: number;
}

const failing: Partial<LoopSpec<Labels>> = {
  flow: labelWith(() => {
    throw new Error('no');
  }),
};

async function running(
  overrides: Partial<LoopSpec<Labels>> = {},
  { volumes = ['a'], classes = [fastClass], gate = openGate, verbosity = 5 }: Setting = {},
) {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const logger = recordingLogger({ verbosity });
  const metrics = recordingMetrics();
  const server = createFakeApiServer({ clock, random });
  for (const object of [...volumes.map(volume), ...classes]) server.seed(object);
  const client = createApiClient(
    { transport: server.transport, clock, logger },
    { userAgent: 'test', qps: -1, burst: 0 },
  );
  const informers = createInformerFactory({ client, clock, random, logger, objects: 'frozen' });
  const queueMetrics = createWorkQueueMetrics(metrics);
  const ports = { client, clock, random, logger, metrics, informers, queueMetrics, gate };
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
    ports,
    writes: () => server.writes().map(({ verb, name, code }) => `${verb} ${name} ${code}`),
    rows: () => logger.lines.filter(({ message }) => message === 'Decided').map(({ facts }) => facts),
    failures: () => logger.lines.filter(({ message }) => message.startsWith('Reconcile')).map(({ facts }) => facts),
    stop: async (reason: Error = new OrderlyStop()) => {
      stop.abort(reason);
      await run;
      await informers.shutdown();
      await watching;
      expect(logger.messages()).not.toContain('A change handler failed');
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
    const loop = await running({}, { volumes: ['a', 'b'], classes: [] });
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
    const describeUid: LoopSpec<Labels>['describe'] = ({ volumes }, key) => ({ uid: volumes.get(key)?.metadata?.uid });
    const loop = await running({ ...failing, describe: describeUid });
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

  it.each<{
    readonly what: string;
    readonly endsFailures: { endsFailures?: () => boolean };
    readonly failures: number;
  }>([
    { what: 'a change', endsFailures: {}, failures: 3 },
    { what: 'a change that does not end failures', endsFailures: { endsFailures: () => false }, failures: 3 },
    { what: 'a change that ends failures', endsFailures: { endsFailures: () => true }, failures: 1 },
  ])('given a failing object and $what, then its failures count $failures', async ({ endsFailures, failures }) => {
    const primary: Primary<Labels, 'volumes'> = { watch: 'volumes', keyOf, ...endsFailures };
    const loop = await running({ ...failing, primary, retryMessage: 'Cannot label, will retry' });
    await loop.clock.advance(1_600);
    loop.server.objects.change(persistentVolumes, { name: 'a' }, (it) => ({ ...it, status: { phase: 'Bound' } }));
    await settle();
    await settle();
    const lines = loop.logger.lines.filter(({ kind }) => kind === 'error');
    expect(lines.map(({ message, facts }) => [message, facts['failures']])).toEqual(
      [1, 2, failures].map((count) => ['Cannot label, will retry', count]),
    );
    await loop.stop();
  });

  it('given a failing object, when an object of another watch that has its name is deleted, then its failures count on', async () => {
    const observe: LoopSpec<Labels>['observe'] = ({ volumes }, key) => ({
      volume: volumes.get(key),
      hasClass: true,
    });
    const loop = await running({ ...failing, observe }, { volumes: ['fast'] });
    loop.server.objects.remove(storageClasses, { name: 'fast' });
    await loop.clock.advance(1_600);
    expect(loop.failures().map(({ key, failures }) => [key, failures])).toEqual([
      ['fast', 1],
      ['fast', 2],
    ]);
    expect(new Set(loop.rows().map(({ key }) => key))).toEqual(new Set(['fast']));
    await loop.stop();
  });

  it('given an object that is gone, then its failures are forgotten first, then the memory of it, and its keys are woken last', async () => {
    const calls: unknown[] = [];
    const limiter = itemExponential<ObjectKey>({ baseMs: 1_000, maxMs: 1_000 });
    const loop = await running({
      limiter: () => ({ ...limiter, forget: (key) => calls.push(`failures of ${key}`) }),
      primary: { watch: 'volumes', keyOf, forget: (key, { metadata }) => calls.push([key, metadata?.uid]) },
      handlers: { volumes: ({ current }) => void (current === undefined && calls.push('wake')) },
    });
    loop.server.objects.remove(persistentVolumes, { name: 'a' });
    await settle();
    expect(calls).toEqual(['failures of a', ['a', 'uid-of-a'], 'wake']);
    await loop.stop();
  });

  it('[runtime#260] given a loop that observes the time, then a key that is due at a time runs then, and not before', async () => {
    const dueMs = Date.UTC(2026, 0, 1) + 297_000;
    const observe: LoopSpec<Labels>['observe'] = ({ volumes }, key, clock) => ({
      volume: volumes.get(key),
      hasClass: false,
      leftMs: dueMs - clock.nowMs(),
    });
    const loop = await running({
      observe,
      flow: function* ({ volume: found, leftMs = 0 }) {
        if (leftMs > 0) return conclude('L2', requeueAfter(leftMs));
        if (found !== undefined && !isLabelled(found)) yield* perform('L4', label);
        return conclude('L3', done);
      },
    });
    await loop.clock.advance(dueMs - loop.clock.nowMs() - 1);
    expect(loop.writes()).toEqual([]);
    await loop.clock.advance(1);
    expect(loop.writes()).toEqual(['patch a 200']);
    await loop.stop();
  });

  it('given a limiter of its own, then a failed key waits as long as that says', async () => {
    const limiter = () => itemExponential<ObjectKey>({ baseMs: 5_000, maxMs: 5_000 });
    const loop = await running({ ...failing, limiter });
    await loop.clock.advance(4_999);
    expect(loop.failures().length).toBe(1);
    await loop.clock.advance(1);
    expect(loop.failures().length).toBe(2);
    await loop.stop();
  });

  it('given lanes, then keys of the preferred lane are worked on first', async () => {
    const loop = await running(
      {
        lanes: {
          preferred: 'in',
          other: 'out',
          classify: ({ volumes }, key) => ({
            lane: volumes.get(key)?.metadata?.name === 'c' ? 'in' : 'out',
            group: '',
          }),
        },
      },
      { volumes: ['a', 'b', 'c'] },
    );
    expect(loop.writes()).toEqual(['patch c 200', 'patch a 200', 'patch b 200']);
    await loop.stop();
  });

  it('given a number of workers, then so many keys are worked on at once', async () => {
    const keys: string[] = [];
    const end = Promise.withResolvers<void>();
    const flow = labelWith(({ key }) => {
      keys.push(key);
      return end.promise;
    });
    const loop = await running({ workers: 2, flow }, { volumes: ['a', 'b', 'c'] });
    expect(keys).toEqual(['a', 'b']);
    end.resolve();
    await loop.stop();
  });

  it('[runtime#223] given a lease that another replica may have, when a run is between two steps, then nothing is performed, and the run ends with its signal', async () => {
    const decided = Promise.withResolvers<void>();
    const gate = {
      open: true,
      held: false,
      whenOpen: (signal: AbortSignal) =>
        new Promise<void>((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
          decided.resolve();
        }),
    };
    const loop = await running({}, { gate });
    await decided.promise;
    await loop.stop(new Error('the lease is lost'));
    expect([loop.rows().map((facts) => facts?.['row']), loop.writes()]).toEqual([['L4'], []]);
  });

  it('given a gate that is closed, then no run begins', async () => {
    const gate = { open: false, held: true, whenOpen: () => new Promise<void>(() => undefined) };
    const loop = await running({}, { gate });
    expect(loop.rows()).toEqual([]);
  });

  it('[runtime#227] given a change while a key waits for the gate, when its run fails, then the next run waits for the backoff', async () => {
    const opened = Promise.withResolvers<void>();
    let open = false;
    const gate: LeaseGate = {
      get open() {
        return open;
      },
      held: true,
      whenOpen: () => opened.promise,
    };
    const loop = await running(failing, { gate });
    await loop.ports.client.patch(
      { resource: persistentVolumes, ref: { name: 'a' } },
      { type: 'merge', body: { metadata: { labels: { app: 'db' } } } },
    );
    await settle();
    open = true;
    opened.resolve();
    await settle();
    expect(loop.rows().map(({ row }) => row)).toEqual(['L4', 'L5']);
    await loop.stop();
  });

  it('given a log that is less verbose, then rows are not logged', async () => {
    const loop = await running({}, { verbosity: 4 });
    expect([loop.writes(), loop.rows()]).toEqual([['patch a 200'], []]);
    await loop.stop();
  });

  it('given a run that concludes after a step, then its conclusion is reported once, with what was observed, and then its end', async () => {
    const reports: unknown[] = [];
    const loop = await running(
      {
        flow: labelWith(({ clock, signal }) => clock.sleep(250, signal)),
        onConclude: ({ observed, conclusion, ...run }) => reports.push([observed.hasClass, conclusion.row, run]),
        onEnd: ({ concluded, ...run }) => reports.push([concluded?.conclusion.row, run]),
      },
      { volumes: [] },
    );
    await loop.clock.advance(1_000);
    loop.server.seed(volume('a'));
    await loop.clock.advance(250);
    const run = {
      key: 'a',
      durationMs: 250,
      logger: loop.ports.logger,
      caches: expect.objectContaining({ volumes: expect.anything() }),
    };
    expect(reports).toEqual([
      [true, 'L3', run],
      ['L3', run],
    ]);
    await loop.stop();
  });

  it('given a run that throws, then its end is reported without a conclusion, and it is repeated', async () => {
    const ended: unknown[] = [];
    const loop = await running({
      // oxlint-disable-next-line require-yield -- It fails before its first step.
      flow: function* () {
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

  it('given a step, then it has the ports, the caches, the key and the context, and a signal that cuts it off', async () => {
    const runs: Run<Labels>[] = [];
    const loop = await running({
      flow: labelWith((run) => {
        runs.push(run);
        return new Promise<void>((resolve) => {
          run.signal.addEventListener('abort', () => resolve());
        });
      }),
    });
    const [{ signal, caches, ...run }] = runs as [Run<Labels>];
    const { client, clock, random, logger } = loop.ports;
    expect(run).toEqual({ client, clock, random, logger, key: 'a', context: labels.context });
    expect([caches.volumes.get(run.key)?.metadata?.name, signal.aborted]).toEqual(['a', false]);
    await loop.stop(new Error('lease lost'));
    expect(signal.aborted).toBe(true);
  });

  it('given a key of which nothing is known any more, then its run is done without a step', async () => {
    const loop = await running({ observe: () => undefined });
    expect([loop.rows(), loop.logger.lines.filter(({ kind }) => kind === 'error')]).toEqual([[], []]);
    await loop.stop();
  });

  it('given a source, when it wakes a key now or rate limited, then it runs at once or after the delay', async () => {
    let wake: (key: ObjectKey, when?: When) => void = () => undefined;
    const loop = await running({ sources: [(given) => (wake = given)] }, { volumes: [] });
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

  it('given a last run that takes its time, then the controller ends after it', async () => {
    const held = Promise.withResolvers<void>();
    const lastRuns = (): readonly ObjectKey[] => [toObjectKey(undefined, 'a')];
    const loop = await running({ lastRuns, handlers: {}, flow: labelWith(() => held.promise) });
    let hasEnded = false;
    const stopping = loop.stop().then(() => (hasEnded = true));
    for (let turn = 0; turn < 5; turn++) await settle();
    expect(hasEnded).toBe(false);
    held.resolve();
    await stopping;
    expect(loop.rows().map(({ row }) => row)).toEqual(['L4', 'L3']);
  });

  it('given keys with a last run, when the stop is orderly, then each runs once more; at any other stop none does', async () => {
    const lastRuns = (): readonly ObjectKey[] => [toObjectKey(undefined, 'last')];
    const orderly = await running({ lastRuns }, { volumes: [] });
    await orderly.stop();
    expect(orderly.rows()).toEqual([{ queue: 'labels', key: 'last', row: 'L1', action: 'conclude' }]);
    const cut = await running({ lastRuns }, { volumes: [] });
    await cut.stop(new Error('lease lost'));
    expect(cut.rows()).toEqual([]);
  });
});
