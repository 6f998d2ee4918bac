// SPDX-License-Identifier: Apache-2.0
/** Sessions with a real driver socket, with controllers that do nothing but what a test wants. */
import { getEventListeners } from 'node:events';
import { type CsiServer, type Handlers, serveCsi } from '@csi-sidecars/csi/testing';
import {
  type KubeObject,
  type Metrics,
  persistentVolumes,
  type Transport,
  TransportError,
} from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger, settle, until } from '@csi-sidecars/runtime/testing';
import { ExitError } from '@csi-sidecars/sidecar';
import { fakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it, onTestFinished } from 'vitest';
import { driverName, healthy } from '../../testing/run-all.ts';
import type { ProcessFault } from './supervise.ts';
import { runSessions, type Running } from './sessions.ts';
import type { AnyContext, AnySidecar } from './sidecars.ts';
import { createStates } from './states.ts';

interface Options {
  readonly handlers?: Handlers;
  readonly env?: Readonly<Record<string, string>>;
  readonly election?: boolean;
  readonly seed?: readonly KubeObject[];
  readonly intercept?: (transport: Transport) => Transport;
}

type Controllers = Readonly<Record<string, Partial<AnySidecar>>>;

async function running(
  controllers: Controllers,
  { handlers = {}, election = false, seed = [], ...options }: Options = {},
) {
  const drivers: CsiServer[] = [];
  /** Starts the driver, or starts it again. */
  const serve = async (own: Handlers = {}): Promise<void> => {
    drivers.at(-1)?.stop();
    drivers.push(await serveCsi({ ...healthy, ...handlers, ...own }, drivers[0]?.path));
  };
  await serve();
  const host = fakeHost(options);
  for (const object of seed) host.server.seed(object);
  const log = recordingLogger();
  const registry = await host.openMetrics();
  const labelsOfCalls: (readonly string[])[] = [];
  const metrics: Metrics = {
    ...registry,
    histogram: (options) => {
      labelsOfCalls.push(options.labels ?? []);
      return registry.histogram(options);
    },
  };
  const names = Object.keys(controllers);
  const states = createStates(names, metrics);
  const faults: ProcessFault[] = [];
  const stopping = new AbortController();
  const limits = { 'kube-api-qps': 5, 'kube-api-burst': 10 };
  const values = {
    ...limits,
    'csi-address': drivers[0]!.path,
    'leader-election': election,
    'leader-election-namespace': 'ns',
    'leader-election-lease-duration': 15_000,
    'leader-election-renew-deadline': 10_000,
    'leader-election-retry-period': 5_000,
  };
  const sidecars = names.map((name) => ({
    name,
    values: limits,
    given: new Set(),
    sidecar: { flags: {}, driver: () => ({ probeTimeoutMs: 1_000, nameTimeoutMs: 1_000 }), ...controllers[name] },
  }));
  const api = await host.connectApi({ program: 'p', kubeconfig: '', master: '', qps: -1, burst: 1, log });
  let isOver = false;
  const over = runSessions({
    started: { values, gates: {}, log },
    plan: { sidecars, onFailure: 'restart' },
    host,
    signal: stopping.signal,
    metrics,
    states,
    api,
    inspections: { of: () => undefined, auditOf: () => undefined, routes: [] },
    endProcess: (fault: ProcessFault) => void faults.push(fault),
  } as unknown as Running).then(() => (isOver = true));
  onTestFinished(async () => {
    stopping.abort();
    for (const driver of drivers) driver.stop();
    await drivers[0]![Symbol.asyncDispose]();
  });
  return {
    host,
    log,
    registry,
    labelsOfCalls,
    states,
    faults,
    stopping,
    over,
    isOver: () => isOver,
    serve,
    lose: () => drivers.at(-1)!.stop(),
    /** Connections to the driver that were made. */
    sessions: () => log.messages().filter((message) => message === 'CSI driver name').length,
    listeners: () => getEventListeners(stopping.signal, 'abort').length,
  };
}

/** Time for what happens over sockets. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await settle();
}

const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

/** The last of many runs does not end, because a loop without a pause would keep the test from ending. */
async function noted(contexts: AnyContext[], context: AnyContext): Promise<void> {
  contexts.push(context);
  if (contexts.length === 20) await new Promise(() => undefined);
}

/** A controller that works until its session is over, and what its runs began with. */
function working(whenOver: () => Promise<void> = () => Promise.resolve()) {
  const runs: AnyContext[] = [];
  const prepare: AnySidecar['prepare'] = async (context) => {
    await noted(runs, context);
    await whenAborted(context.signal);
    await whenOver();
    throw new Error('the session is over');
  };
  return { prepare, runs };
}

/** A controller whose driver cannot do what it needs. */
const lackingFor = (contexts: AnyContext[]): Partial<AnySidecar> => ({
  prepare: async (context) => {
    await noted(contexts, context);
    throw new ExitError(1, 'cannot', { reason: 'driver' });
  },
});

/** Calls the driver over the channel of a run. */
const probing =
  ({ channel }: AnyContext) =>
  () =>
    channel.call('/csi.v1.Identity/Probe', {}, { timeoutMs: 1_000, signal: new AbortController().signal });

it('given a driver that is lost and comes back, then its controllers begin again, and the session before leaves nothing behind', async () => {
  const ended = Promise.withResolvers<void>();
  const [quick, slow] = [working(), working(() => ended.promise)];
  const run = await running({ quick, slow, lacking: lackingFor([]) });
  await until(() => quick.runs.length === 1 && slow.runs.length === 1);
  const before = run.listeners();
  run.lose();
  await until(() => run.states.of('quick') === 'starting');
  await run.serve();
  await until(() => quick.runs.length === 2);
  expect(slow.runs).toHaveLength(1);
  ended.resolve();
  await until(() => slow.runs.length === 2);
  expect([run.sessions(), run.listeners()]).toEqual([2, before]);
  run.stopping.abort();
  await run.over;
  expect(run.listeners()).toBe(0);
  expect(['quick', 'slow', 'lacking'].map((name) => run.states.of(name))).toEqual(['stopped', 'stopped', 'stopped']);
});

it('given a stop, then the driver can be called until the last controller has ended, and no longer', async () => {
  const ended = Promise.withResolvers<void>();
  const [quick, slow] = [working(), working(() => ended.promise)];
  const run = await running({ quick, slow });
  await until(() => quick.runs.length === 1 && slow.runs.length === 1);
  run.stopping.abort();
  await until(() => run.states.of('quick') === 'stopped');
  const ask = probing(slow.runs[0]!);
  await ask();
  ended.resolve();
  await run.over;
  await expect(ask()).rejects.toThrow();
});

it('given a stop while no controller works, then the driver can no longer be called', async () => {
  const contexts: AnyContext[] = [];
  const run = await running({ lacking: lackingFor(contexts) });
  await until(() => run.states.of('lacking') === 'parked');
  const ask = probing(contexts[0]!);
  await ask();
  run.stopping.abort();
  await run.over;
  await expect(ask()).rejects.toThrow();
});

it('given a driver that cannot do what the only controller needs, when it comes back, then the controller asks again', async () => {
  const contexts: AnyContext[] = [];
  const run = await running({ only: lackingFor(contexts) });
  await until(() => run.states.of('only') === 'parked');
  const before = run.listeners();
  await run.serve();
  await until(() => contexts.length === 2);
  expect([run.sessions(), run.listeners()]).toEqual([2, before]);
});

it('given a run that ends when the session after its own is over, too, then the next one begins in the session after that', async () => {
  const ended = Promise.withResolvers<void>();
  const slow = working(() => ended.promise);
  const run = await running({ slow });
  await until(() => slow.runs.length === 1);
  await run.serve();
  await until(() => run.sessions() === 2);
  expect(slow.runs).toHaveLength(1);
  run.lose();
  await until(() => run.log.messages().filter((message) => message.includes('Lost connection')).length === 2);
  ended.resolve();
  await turns();
  expect([slow.runs.length, run.states.of('slow')]).toEqual([1, 'starting']);
  await run.serve();
  await until(async () => {
    await turns();
    await run.host.clock.advance(100);
    return slow.runs.length === 2;
  });
  expect(run.sessions()).toBe(3);
});

it('given a driver that comes back under another name, then no controller works with it, and its session is closed', async () => {
  const controller = working();
  const run = await running({ controller });
  await until(() => controller.runs.length === 1);
  await run.serve({ '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'other' }) });
  await until(() => run.faults.length > 0);
  await turns();
  expect([run.isOver(), controller.runs.length, run.listeners()]).toEqual([true, 1, 0]);
  expect(run.faults).toEqual([{ code: 1, error: new Error(`the driver was ${driverName}, now it is other`) }]);
});

it('given a stop in the moment in which a controller begins, then its session ends', async () => {
  const contexts: AnyContext[] = [];
  const run = await running({
    controller: {
      prepare: async (context) => {
        run.stopping.abort();
        await noted(contexts, context);
        throw new Error('stopped');
      },
    },
  });
  await until(() => run.stopping.signal.aborted);
  await turns();
  expect([run.isOver(), run.listeners()]).toEqual([true, 0]);
});

it('given no driver, when the process is stopped, then its controllers have stopped', async () => {
  const run = await running(
    { only: working() },
    { handlers: { '/csi.v1.Identity/Probe': () => new Promise(() => {}) } },
  );
  await settle();
  run.stopping.abort();
  await run.over;
  expect([run.states.of('only'), run.faults]).toEqual(['stopped', []]);
});

it.each([
  [[undefined, undefined], false],
  [['other', undefined], false],
  [[undefined, driverName], true],
  [[driverName, 'other'], true],
] as const)(
  'given controllers that count the calls of these drivers as migrated: %j, then the calls are counted so: %s',
  async (migrated, expected) => {
    const named = migrated.map((name, index) => {
      const limits = { probeTimeoutMs: 1_000, nameTimeoutMs: 1_000 };
      const isMigrated = (driver: string): boolean => driver === name;
      const controller = { ...working(), driver: () => (name === undefined ? limits : { ...limits, isMigrated }) };
      return [`controller-${index}`, controller] as const;
    });
    const run = await running(Object.fromEntries(named));
    await until(() => run.sessions() === 1);
    expect(run.labelsOfCalls.map((labels) => labels.includes('migrated'))).toEqual([expected]);
  },
);

it.each([
  ['Probe', 'probeTimeoutMs'],
  ['GetPluginInfo', 'nameTimeoutMs'],
] as const)('given controllers that wait for %s for 1 s and for 3 s, then the driver has 3 s', async (call, limit) => {
  const [short, long] = [1_000, 3_000].map((limitMs) => ({
    ...working(),
    driver: () => ({ probeTimeoutMs: 10, nameTimeoutMs: 10, [limit]: limitMs }),
  }));
  let isAsked = false;
  let isCancelled = false;
  const hang = (_: unknown, { signal }: { readonly signal: AbortSignal }): Promise<never> => {
    isAsked = true;
    signal.addEventListener('abort', () => (isCancelled = true));
    return new Promise(() => undefined);
  };
  const run = await running({ short: short!, long: long! }, { handlers: { [`/csi.v1.Identity/${call}`]: hang } });
  await until(() => isAsked);
  await run.host.clock.advance(2_999);
  await turns();
  expect(isCancelled).toBe(false);
  await run.host.clock.advance(1);
  await until(() => isCancelled);
});

it('given a controller that is slow to say what it watches, then the others wait for it for 5 s', async () => {
  const slow = { prepare: () => new Promise<never>(() => undefined) };
  const run = await running({ slow, quick: { prepare: reading } });
  await until(() => run.sessions() === 1);
  await turns();
  await run.host.clock.advance(4_999);
  await turns();
  expect(run.states.of('quick')).toBe('starting');
  await run.host.clock.advance(1);
  await until(() => run.states.of('quick') === 'working');
});

it('given a lease in the name of this process at its start, then the controller leads at once, with a client and a log of its own', async () => {
  const removed: unknown[] = [];
  const prepare: AnySidecar['prepare'] = async (context) => {
    context.log.info(0, 'prepared');
    return {
      lockName: 'lock',
      assemble: ({ client, informers }) => {
        informers.informer({ resource: persistentVolumes });
        const run = async (signal: AbortSignal): Promise<void> => {
          await client.delete(persistentVolumes, { name: 'pv1' });
          removed.push('pv1');
          await whenAborted(signal);
        };
        return { run };
      },
    };
  };
  const renewTime = new Date(new FakeClock().nowMs()).toISOString().replace('Z', '000Z');
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: 'ns', name: 'lock' },
    spec: { holderIdentity: 'pod-1', leaseDurationSeconds: 15, acquireTime: renewTime, renewTime },
  };
  const run = await running({ leader: { prepare } }, { election: true, seed: [lease, volume] });
  await until(() => run.sessions() === 1);
  await turns();
  expect([run.states.of('leader'), removed]).toEqual(['working', ['pv1']]);
  expect(run.log.lines.filter(({ message }) => message === 'prepared')).toEqual([
    { kind: 'info', level: 0, message: 'prepared', facts: { controller: 'leader' } },
  ]);
});

const volume = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'pv1' },
  spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } },
} as KubeObject;

it('given a controller that fails, then its first pause takes 1 s', async () => {
  const run = await running({ failing: { prepare: () => Promise.reject(new Error('a defect')) } });
  await until(() => run.states.of('failing') === 'backoff');
  expect(run.log.lines.at(-1)).toMatchObject({ facts: { controller: 'failing', afterSeconds: 1 } });
});

it('given an API server that refuses watches, then the log says so after a while', async () => {
  const intercept =
    (transport: Transport): Transport =>
    (request) =>
      request.path.includes('watch=') ? Promise.reject(new TransportError('refused', 'refused')) : transport(request);
  const run = await running({ reader: { prepare: reading } }, { intercept });
  await until(() => run.states.of('reader') === 'working');
  for (let second = 0; second < 20; second += 1) {
    await run.host.clock.advance(1_000);
    await turns();
  }
  expect(run.log.lines).toContainEqual(
    expect.objectContaining({ kind: 'error', message: 'Lists and watches of the API server fail' }),
  );
});

const reading: AnySidecar['prepare'] = async () => ({
  lockName: 'lock',
  assemble: ({ informers }) => {
    informers.informer({ resource: persistentVolumes });
    return { run: whenAborted };
  },
});

it.each([
  ['', ['watch']],
  ['false', ['list', 'watch']],
])(
  'given KUBE_FEATURE_WatchListClient=%s, then objects are read by %j, and are counted in metrics',
  async (value, verbs) => {
    const run = await running({ reader: { prepare: reading } }, { env: { KUBE_FEATURE_WatchListClient: value } });
    await until(() => run.states.of('reader') === 'working');
    await until(() => run.host.server.requests.length >= verbs.length);
    expect(run.host.server.requests.map(({ verb }) => verb)).toEqual(verbs);
    expect(await run.registry.text()).toContain('informer_objects');
  },
);
