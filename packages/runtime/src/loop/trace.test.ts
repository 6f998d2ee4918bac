// SPDX-License-Identifier: Apache-2.0
/** The span of a run: over a loop that labels volumes, with an API server in memory. */
import { describe, expect, it } from 'vitest';
import {
  createFakeApiServer,
  FakeClock,
  recordingLogger,
  recordingTracer,
  seededRandom,
  settle,
} from '../../testing/index.ts';
import { createApiClient } from '../api/create-client.ts';
import type { PersistentVolume } from '../api/objects.ts';
import { persistentVolumes } from '../api/resource.ts';
import {
  type Conclusion,
  done,
  dropped,
  type Outcome,
  postpone,
  requeueAfter,
  retry,
} from '../controller/reconcile.ts';
import { createInformerFactory } from '../informer/factory.ts';
import { keyOf, type ObjectKey } from '../informer/key.ts';
import { noMetrics } from '../metrics/metrics.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import type { Tracer } from '../tracing/tracer.ts';
import { createWorkQueueMetrics } from '../workqueue/queue-metrics.ts';
import { createController } from './create-controller.ts';
import { defineLoop } from './define-loop.ts';
import { conclude, type Flow, perform } from './flow.ts';
import type { LoopSpec, LoopTypes, Run } from './loop.ts';

interface Labels extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: { readonly volumes: PersistentVolume };
  readonly observed: { readonly volume: PersistentVolume };
  readonly conclusion: Conclusion;
}
type LabelsRun = Run<Labels>;

async function running(spec: Partial<LoopSpec<Labels>>, tracer: Tracer | undefined) {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const logger = recordingLogger();
  const server = createFakeApiServer({ clock, random });
  server.seed({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'a', uid: 'uid-of-a' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      claimRef: { uid: 'uid-of-claim', name: 'c', namespace: 'ns' },
    },
  });
  const client = createApiClient(
    { transport: server.transport, clock, logger, host: 'api.test:443' },
    { userAgent: 't', qps: -1, burst: 0 },
  );
  const informers = createInformerFactory({ client, clock, random, logger, objects: 'frozen' });
  const queueMetrics = createWorkQueueMetrics(noMetrics);
  const ports = { client, clock, random, logger, metrics: noMetrics, informers, queueMetrics, tracer };
  const loop = defineLoop<Labels>({
    name: 'labels',
    settings: { workerThreads: 1, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 60_000 },
    watches: { volumes: { resource: persistentVolumes } },
    primary: { watch: 'volumes', keyOf },
    handlers: {
      volumes: ({ current, previous }) =>
        current === undefined || previous !== undefined ? undefined : keyOf(current),
    },
    observe: ({ volumes }, key) => {
      const found = volumes.get(key);
      return found && { volume: found };
    },
    flow: concludes(done),
    ...spec,
  });
  const controller = createController(ports, [loop]);
  const stop = new AbortController();
  const watching = informers.start(new AbortController().signal);
  const run = controller.run(stop.signal);
  await settle();
  await settle();
  return {
    clock,
    server,
    client,
    [Symbol.asyncDispose]: async () => {
      stop.abort(new OrderlyStop());
      await run;
      await informers.shutdown();
      await watching;
    },
  };
}

const concludes = (outcome: Outcome): LoopSpec<Labels>['flow'] =>
  // oxlint-disable-next-line require-yield -- a flow without steps
  function* (): Flow<Conclusion> {
    return conclude('L9', outcome);
  };

function label({ client, signal, key }: LabelsRun, status: boolean): Promise<unknown> {
  const body = status ? { status: { phase: 'Failed' } } : { metadata: { labels: { a: 'b' } } };
  const options = { signal, ...(status ? { subresource: 'status' as const } : {}) };
  return client.patch({ resource: persistentVolumes, ref: { name: key } }, { type: 'merge', body }, options);
}

describe('a run', () => {
  it('given steps that write, then it has one span with its rows and names, and one below it for each write, none for reads', async () => {
    const tracer = recordingTracer();
    const look = ({ client, key, span }: LabelsRun): string => {
      void client.get(persistentVolumes, { name: key });
      return span!.row;
    };
    const rows: string[] = [];
    await using _ = await running(
      {
        flow: function* (): Flow<Conclusion> {
          rows.push(yield* perform('L1', look));
          yield* perform('L2', label, false);
          yield* perform('L3', label, true);
          return conclude('L4', done);
        },
      },
      tracer,
    );
    expect(rows).toEqual(['L1']);
    expect(tracer.runs).toHaveLength(1);
    const [run] = tracer.runs;
    expect(run).toMatchObject({
      name: 'reconcile labels',
      subject: { uid: 'uid-of-claim' },
      result: 'ended',
      attributes: {
        'csi_sidecars.queue': 'labels',
        'csi_sidecars.key': 'a',
        'csi_sidecars.attempt': 1,
        'csi_sidecars.queued_ms': 0,
        'csi_sidecars.object.uid': 'uid-of-a',
        'csi_sidecars.row': 'L4',
        'csi_sidecars.rows': ['L1', 'L2', 'L3', 'L4'],
        'csi_sidecars.action': 'label',
        'csi_sidecars.outcome': 'done',
        'k8s.namespace.name': 'ns',
        'k8s.persistentvolumeclaim.name': 'c',
        'k8s.persistentvolume.name': 'a',
      },
    });
    expect(run?.children.map(({ name, result, attributes }) => ({ name, result, attributes }))).toEqual(
      (['', '/status'] as const).map((suffix) => ({
        name: `PATCH persistentvolumes${suffix}`,
        result: 'ended',
        attributes: {
          'http.request.method': 'PATCH',
          'http.request.resend_count': 0,
          'http.response.status_code': 200,
          'server.address': 'api.test',
          'url.template': `/api/v1/persistentvolumes/{name}${suffix}`,
        },
      })),
    );
  });

  it.each<[Outcome, string, string]>([
    [done, 'done', 'ended'],
    [dropped, 'done', 'ended'],
    [requeueAfter(3_600_000), 'wait', 'ended'],
    [postpone('x'), 'wait', 'ended'],
    [retry(new Error('x')), 'retry', 'failed'],
  ])('given the outcome %o, then it is recorded as %s, and the span is %s', async (outcome, recorded, result) => {
    const tracer = recordingTracer();
    await using _ = await running({ flow: concludes(outcome) }, tracer);
    expect(tracer.runs[0]).toMatchObject({
      result,
      attributes: { 'csi_sidecars.outcome': recorded, 'csi_sidecars.rows': ['L9'] },
    });
  });

  it('given a run that throws, then its span ends as failed, with the row that it was in', async () => {
    const tracer = recordingTracer();
    const fails = (): never => {
      throw new Error('secret text');
    };
    await using _ = await running(
      {
        flow: function* (): Flow<Conclusion> {
          yield* perform('L1', fails);
          return conclude('L2', done);
        },
      },
      tracer,
    );
    expect(tracer.runs[0]).toMatchObject({
      result: 'failed',
      attributes: { 'csi_sidecars.outcome': 'retry', 'csi_sidecars.row': 'L1', 'csi_sidecars.action': 'fails' },
    });
    expect(JSON.stringify(tracer.runs)).not.toContain('secret');
  });

  it('given a key that failed and waited for a worker, then attempts and waiting are recorded', async () => {
    const tracer = recordingTracer();
    const slow = ({ clock, signal }: LabelsRun): Promise<void> => clock.sleep(300, signal);
    await using loop = await running(
      {
        flow: function* ({ volume }): Flow<Conclusion> {
          yield* perform('L1', slow);
          return conclude('L2', volume.metadata?.name === 'a' ? retry(new Error('no')) : done);
        },
      },
      tracer,
    );
    loop.server.seed({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'b', uid: 'uid-of-b' },
    });
    await settle();
    await loop.clock.advance(2_000);
    const facts = tracer.runs.map(({ attributes }) => [
      attributes['csi_sidecars.key'],
      attributes['csi_sidecars.attempt'],
      attributes['csi_sidecars.queued_ms'],
    ]);
    expect(facts.slice(0, 3)).toEqual([
      ['a', 1, 0],
      ['b', 1, 300],
      ['a', 2, 0],
    ]);
  });

  it('given lanes, then the lane is recorded; given a classification that throws, then the run goes on without one', async () => {
    const [good, bad] = [recordingTracer(), recordingTracer()];
    const lanes = { preferred: 'x', other: 'y', classify: () => ({ lane: 'y', group: '' }) };
    await using _a = await running({ lanes }, good);
    const classify = (): never => {
      throw new Error('no');
    };
    await using _b = await running({ lanes: { ...lanes, classify } }, bad);
    expect(good.runs[0]?.attributes['csi_sidecars.lane']).toBe('y');
    expect(bad.runs[0]).toMatchObject({ result: 'ended' });
    expect(bad.runs[0]!.attributes).not.toHaveProperty('csi_sidecars.lane');
  });

  it('given more rows than are recorded, then the first 32 are, and the last one is the row of the end', async () => {
    const tracer = recordingTracer();
    await using _ = await running(
      {
        flow: function* (): Flow<Conclusion> {
          for (let step = 0; step < 50; step += 1) yield* perform(`L${step}`, () => undefined);
          return conclude('L99', done);
        },
      },
      tracer,
    );
    const { attributes } = tracer.runs[0]!;
    expect([attributes['csi_sidecars.rows'], attributes['csi_sidecars.row']]).toEqual([
      Array.from({ length: 32 }, (_each, step) => `L${step}`),
      'L99',
    ]);
  });

  it('given no tracer, or one that records nothing, then steps have the client itself and no span', async () => {
    const seen: unknown[] = [];
    const look = ({ client, span }: LabelsRun): void => void seen.push(client, span);
    const flow: LoopSpec<Labels>['flow'] = function* (): Flow<Conclusion> {
      yield* perform('L1', look);
      return conclude('L2', done);
    };
    await using off = await running({ flow }, undefined);
    await using idle = await running({ flow }, { start: () => undefined });
    expect(seen).toEqual([off.client, undefined, idle.client, undefined]);
    expect([seen[0] === off.client, seen[2] === idle.client]).toEqual([true, true]);
  });
});
