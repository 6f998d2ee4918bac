// SPDX-License-Identifier: Apache-2.0
/** What an inspection knows of the keys of a loop that labels volumes, over an API server in memory. */
import { expect, it, onTestFinished } from 'vitest';
import { createFakeApiServer, FakeClock, recordingTracer, seededRandom, settle } from '../../testing/index.ts';
import { createApiClient } from '../api/create-client.ts';
import type { PersistentVolume } from '../api/objects.ts';
import { persistentVolumes } from '../api/resource.ts';
import { type Conclusion, done, requeueAfter, retry } from '../controller/reconcile.ts';
import { createInformerFactory } from '../informer/factory.ts';
import { keyOf, type ObjectKey, toObjectKey } from '../informer/key.ts';
import { silentLogger } from '../log/logger.ts';
import { createController } from '../loop/create-controller.ts';
import { defineLoop } from '../loop/define-loop.ts';
import { conclude, type Flow, orEnd, perform } from '../loop/flow.ts';
import type { LoopSpec, LoopTypes, Run } from '../loop/loop.ts';
import { noMetrics } from '../metrics/metrics.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import type { CallParent, Tracer } from '../tracing/tracer.ts';
import { createWorkQueueMetrics } from '../workqueue/queue-metrics.ts';
import { createInspection } from './inspection.ts';
import { LastDecisions } from './last-decisions.ts';

interface Labels extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: { readonly volumes: PersistentVolume };
  readonly observed: object;
  readonly conclusion: Conclusion;
}

const volume = (name: string, uid = `uid-of-${name}`): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name, uid },
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi: { driver: 'd', volumeHandle: name } },
});

class CallError extends Error {
  readonly code = 'DeadlineExceeded';
}

interface Started {
  readonly names?: readonly string[];
  readonly inspected?: boolean;
  readonly tracer?: Tracer;
  readonly spec?: Partial<LoopSpec<Labels>>;
}

/** One worker; each run waits in a call until the test ends it. */
async function start({ names = ['a', 'b', 'c'], inspected = true, spec = {}, tracer }: Started = {}) {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const server = createFakeApiServer({ clock, random });
  for (const name of names) server.seed(volume(name));
  const client = createApiClient(
    { transport: server.transport, clock, logger: silentLogger },
    { userAgent: 't', qps: -1, burst: 0 },
  );
  const informers = createInformerFactory({ client, clock, random, logger: silentLogger });
  const inspection = createInspection({ clock }, 'labels-controller');
  const spans: (CallParent | undefined)[] = [];
  let answer = Promise.withResolvers<void>();
  async function call({ span }: Run<Labels>): Promise<void> {
    spans.push(span);
    const child = span?.child('d.v1.Service/Label', { 'csi_sidecars.timeout_ms': 60_000 });
    try {
      await answer.promise;
    } finally {
      child?.end('ended');
    }
  }
  const term = inspection.leads();
  const controller = createController(
    {
      client,
      clock,
      random,
      logger: silentLogger,
      metrics: noMetrics,
      informers,
      queueMetrics: createWorkQueueMetrics(noMetrics),
      ...(inspected ? { inspection } : {}),
      tracer,
    },
    [
      defineLoop<Labels>({
        name: 'labels',
        settings: { workerThreads: 1, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 60_000 },
        watches: { volumes: { resource: persistentVolumes } },
        primary: { watch: 'volumes', keyOf },
        handlers: {
          volumes: ({ current, previous }) => (current && previous === undefined ? keyOf(current) : undefined),
        },
        observe: () => ({}),
        flow: function* (): Flow<Conclusion> {
          yield* orEnd(perform('L4', call), (failure) => conclude('L5', retry(failure)));
          return conclude('L3', done);
        },
        ...spec,
      }),
    ],
  );
  const stop = new AbortController();
  const watching = informers.start(new AbortController().signal);
  const running = controller.run(stop.signal);
  const settled = async () => {
    for (let turn = 0; turn < 5; turn += 1) await settle();
  };
  await settled();
  onTestFinished(async () => {
    stop.abort(new OrderlyStop());
    answer.resolve();
    await running;
    await informers.shutdown();
    await watching;
  });
  const endCall = async (failure?: Error): Promise<void> => {
    const open = answer;
    answer = Promise.withResolvers();
    if (failure === undefined) open.resolve();
    else open.reject(failure);
    await settled();
  };
  const ask = (name: string) =>
    inspection.answers({ plural: 'persistentvolumes', by: { key: toObjectKey(undefined, name) } })[0];
  const askUid = (uid: string) => inspection.answers({ plural: 'persistentvolumes', by: { uid } })[0];
  return { clock, server, inspection, term, spans, endCall, ask, askUid, settled };
}

it('given a call under way, then its run is reported with row, method and deadline, and the other keys with their places', async () => {
  const { ask, askUid, clock } = await start();
  const now = new Date(clock.nowMs()).toISOString();
  expect(ask('a')).toEqual({
    known: true,
    uid: 'uid-of-a',
    queue: { name: 'labels', lane: null, depth: 2, place: null, waitingSince: null, workers: 1, busy: 1 },
    run: {
      row: 'L4',
      action: 'call',
      method: 'Label',
      startedAt: now,
      deadlineAt: new Date(clock.nowMs() + 60_000).toISOString(),
    },
    last: null,
    backoff: null,
    nextAt: null,
    memory: [],
  });
  expect(ask('c')?.queue).toMatchObject({ depth: 2, place: 2, waitingSince: now });
  expect(askUid('uid-of-a')?.run?.row).toBe('L4');
  expect(ask('nobody')).toMatchObject({ known: false, uid: null, run: null, last: null });
});

it('given a run that has failed, then its decision is reported with code and text, and the backoff with the time of the next run', async () => {
  const { ask, askUid, clock, endCall } = await start({ names: ['a'] });
  await clock.advance(2_500);
  await endCall(new Error('label', { cause: new CallError('too slow') }));
  const answer = ask('a');
  expect(answer).toMatchObject({
    run: null,
    last: { row: 'L5', action: 'conclude', tookSeconds: 2.5, code: 'DeadlineExceeded', text: 'label' },
    backoff: { failures: 1 },
  });
  expect(answer?.nextAt).toBe(answer?.backoff?.nextAt);
  const waitMs = Date.parse(answer?.backoff?.nextAt ?? '') - clock.nowMs();
  expect(waitMs).toBeGreaterThanOrEqual(1_000);
  expect(waitMs).toBeLessThanOrEqual(1_100);
  expect(askUid('uid-of-a')?.last?.row).toBe('L5');
  // Times of answers are whole milliseconds.
  await clock.advance(waitMs + 1);
  expect(ask('a')?.run?.method).toBe('Label');
  await endCall();
  expect(ask('a')).toMatchObject({ last: { row: 'L3', code: null, text: null }, backoff: null });
});

it('[runtime#261] given a key that is to be looked at again later, then the time of its next run is reported, and no backoff', async () => {
  const { ask, clock } = await start({
    names: ['a'],
    spec: {
      // oxlint-disable-next-line require-yield -- a flow without steps
      flow: function* () {
        return conclude('L2', requeueAfter(297_000));
      },
    },
  });
  const nextAt = new Date(clock.nowMs() + 297_000).toISOString();
  await clock.advance(1_000);
  expect(ask('a')).toMatchObject({ run: null, backoff: null, nextAt });
});

it('given a run that throws, then its last row is reported with the text of the defect', async () => {
  const { ask, endCall } = await start({
    names: ['a'],
    spec: {
      flow: function* (): Flow<Conclusion> {
        yield* perform('L7', async function label() {
          throw new Error('a defect');
        });
        return conclude('L3', done);
      },
    },
  });
  await endCall();
  expect(ask('a')?.last).toMatchObject({ row: 'L7', action: 'label', text: 'a defect' });
});

it('given another object under the name of one that is gone, then the decision about the earlier one is not reported', async () => {
  const { ask, endCall, server, settled } = await start({ names: ['a'] });
  await endCall();
  expect(ask('a')?.last?.row).toBe('L3');
  server.objects.delete(persistentVolumes, { name: 'a' });
  await settled();
  expect(ask('a')).toMatchObject({ known: false, last: null });
});

it('given a run that ends when another object has the name, then its decision is not reported of that one', async () => {
  const { ask, endCall, server, settled } = await start({ names: ['a'] });
  server.objects.delete(persistentVolumes, { name: 'a' });
  await settled();
  server.seed(volume('a', 'uid-of-another'));
  await settled();
  await endCall();
  expect(ask('a')).toMatchObject({ uid: 'uid-of-another', run: { row: 'L4' }, last: null });
  await endCall();
  expect(ask('a')?.last?.row).toBe('L3');
});

it('given words that the loop has for a key, then they are reported', async () => {
  const { ask } = await start({ spec: { remembered: (key) => (key === 'a' ? ['pinned'] : []) } });
  expect([ask('a')?.memory, ask('b')?.memory]).toEqual([['pinned'], []]);
});

it('given the end of the term, then nothing is reported, and the next term begins with loops of its own', async () => {
  const { ask, term, inspection } = await start();
  expect(inspection.state().leadingSinceMs).toBeTypeOf('number');
  term[Symbol.dispose]();
  expect([ask('a'), inspection.state().leadingSinceMs, inspection.summaries()]).toEqual([undefined, undefined, []]);
  using _ = inspection.leads();
  expect(inspection.summaries()).toEqual([]);
});

it('given no question about an object, then queues are reported by depth, runs and oldest age, without a key', async () => {
  const { clock, inspection } = await start();
  await clock.advance(3_000);
  expect(inspection.summaries()).toEqual([{ name: 'labels', depth: 2, running: 1, oldestSeconds: 3, workers: 1 }]);
  expect(inspection.state().caches).toEqual([{ kind: 'persistentvolumes', synced: true }]);
});

it('given runs that are traced too, then calls are spans below the run as without an inspection, and get its context', async () => {
  const spansWith = async (inspected: boolean) => {
    const tracer = recordingTracer();
    const { endCall, spans, ask } = await start({ names: ['a'], tracer, inspected });
    expect(ask('a')?.run?.method).toBe(inspected ? 'Label' : undefined);
    await endCall();
    return {
      runs: tracer.runs,
      contexts: spans.map((span) => span?.traceparent),
      rows: spans.map((span) => span?.row),
    };
  };
  const inspected = await spansWith(true);
  expect(inspected).toEqual(await spansWith(false));
  expect(inspected.contexts).toEqual(['context-1']);
});

it('[explain#82] given no inspection, then a run has nothing to report to, and nothing is kept', async () => {
  const { spans, inspection, endCall } = await start({ inspected: false });
  await endCall();
  expect(spans).toEqual([undefined, undefined]);
  expect(inspection.summaries()).toEqual([]);
});

it('given more decisions than are kept, then the oldest are forgotten, and a key that is decided again is the newest', () => {
  const last = new LastDecisions(2);
  const decision = { row: 'L1', action: 'x', atMs: 0, tookMs: 0, code: undefined, text: '', uid: undefined };
  for (const key of ['a', 'b', 'a', 'c']) last.put('q', key, decision);
  expect(['a', 'b', 'c'].map((key) => last.get('q', key) !== undefined)).toEqual([true, false, true]);
});
