// SPDX-License-Identifier: Apache-2.0
/** One run of a controller, with everything around it replaced. */
import { getEventListeners } from 'node:events';
import { type ApiClient, leases, OrderlyStop, persistentVolumes } from '@csi-sidecars/runtime';
import { recordingLogger, recordingMetrics, settle, until } from '@csi-sidecars/runtime/testing';
import { ExitError, openRights } from '@csi-sidecars/sidecar';
import { fakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { runSidecarOnce, type SharedParts, type SidecarParts } from './sidecar-run.ts';
import type { AnyContext } from './sidecars.ts';
import { createStates } from './states.ts';

const name = 'resizer';

interface Options {
  /** Default: until the signal aborts. */
  readonly run?: (signal: AbortSignal, client: ApiClient) => Promise<void>;
  readonly prepare?: () => Promise<void>;
  readonly election?: object;
  /** Default: it has never led. */
  readonly history?: { readonly hasLed: boolean };
  /** The step in which the session with the driver ends. */
  readonly stopIn?: string;
}

const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

async function started({
  run = whenAborted,
  prepare = () => Promise.resolve(),
  election = {},
  history = { hasLed: false },
  stopIn,
}: Options = {}) {
  const host = fakeHost();
  const log = recordingLogger();
  const metrics = recordingMetrics();
  const states = createStates([name], metrics);
  states.set(name, 'backoff');
  const visited: string[] = [];
  const events: string[] = [];
  const note = (event: string): void => void events.push(`${event} while ${states.of(name)}`);
  const wait = async (step: string): Promise<void> => {
    note(step);
    if (step === stopIn) session.abort(new OrderlyStop());
  };
  const options = { program: 'p', kubeconfig: '', master: '', qps: -1, burst: 1, log };
  const { client } = await host.connectApi(options);
  const second = { ...client, isSecond: true };
  const lost = new AbortController();
  const stopping = new AbortController();
  const session = new AbortController();
  const driver = { probeTimeoutMs: 1, nameTimeoutMs: 2, maxLoggedResponseBytes: 3 };
  const values = { own: true };
  const given = new Set(['own']);
  let context: AnyContext | undefined;
  const opened: unknown[] = [];
  let elector: unknown;
  const clients: unknown[] = [];
  const planned: unknown = {
    name,
    values,
    given,
    sidecar: {
      driver: () => driver,
      prepare: async (found: AnyContext) => {
        note('prepare');
        context = found;
        found.metrics.gauge({ name: 'objects', help: 'h', collect: () => [{ labels: {}, value: 1 }] });
        await prepare();
        return {
          lockName: 'lock',
          assemble: ({ client: own }: { readonly client: ApiClient }) => {
            clients.push(own);
            return {
              run: (signal: AbortSignal) => {
                note('run');
                return run(signal, own);
              },
            };
          },
        };
      },
    },
  };
  const electionValues = {
    'leader-election': false,
    'leader-election-namespace': 'ns',
    'leader-election-lease-duration': 15_000,
    'leader-election-renew-deadline': 10_000,
    'leader-election-retry-period': 5_000,
    ...election,
  };
  const parts = {
    planned,
    started: { values: electionValues, gates: {}, stderr: 'the output' },
    host,
    log,
    metrics,
    client,
    withLimit: () => second,
    leaseClient: client,
    rights: openRights({ ...host, host, log, metrics, signal: stopping.signal }, { controller: name, check: 'off' }),
    states: {
      ...states,
      set: (...args: Parameters<typeof states.set>) => {
        visited.push(args[1]);
        states.set(...args);
      },
      setElector: (controller: string, found: unknown) => {
        elector = found;
        note(`elector of ${controller} ${found === undefined ? 'removed' : 'set'}`);
      },
    },
    history,
  } as unknown as SidecarParts;
  const shared = {
    session: {
      name: 'the driver',
      signal: session.signal,
      isLost: () => lost.signal.aborted,
      channelFor: (...args: readonly unknown[]) => {
        opened.push(args);
        return 'the channel';
      },
    },
    hub: {
      announce: (watches: unknown) => note(`announce ${JSON.stringify(watches)}`),
      factoryFor: (controller: string) => {
        note(`informers of ${controller}`);
        return { start: () => new Promise(() => undefined), shutdown: () => Promise.resolve() };
      },
    },
    announced: { arrive: (controller: string) => note(`arrive ${controller}`), pass: () => wait('pass') },
    elected: { arrive: (controller: string) => note(`elected ${controller}`), pass: () => wait('begin') },
    discovery: (own: ApiClient) => ({ ...own, isShared: true }),
  } as unknown as SharedParts;
  const end = runSidecarOnce(parts, shared, stopping.signal);
  const observed = { log, metrics, states, visited, events, opened, clients, elector: () => elector };
  const around = { host, lost, stopping, session, driver, values, given, parts };
  return { ...observed, ...around, context: () => context!, end };
}

it('given a run without an election, then it is prepared, announced, awaited by the others and run, and leaves nothing behind', async () => {
  const run = await started();
  await until(() => run.states.of(name) === 'working');
  expect(run.events).toEqual([
    'prepare while starting',
    'announce [] while starting',
    'arrive resizer while starting',
    'pass while starting',
    'elected resizer while working',
    'begin while working',
    'informers of resizer while working',
    'run while working',
  ]);
  expect(run.opened).toEqual([[run.log, run.driver]]);
  // To learn what it watches, and to work.
  expect(run.clients).toEqual([run.parts.client, expect.objectContaining({ delete: expect.any(Function) })]);
  const { client, withLimit, metrics, ...others } = run.context();
  expect(others).toEqual({
    clock: run.host.clock,
    random: run.host.random,
    started: { ...run.parts.started, values: run.values, given: run.given, log: run.log },
    log: run.log,
    host: run.host,
    signal: run.session.signal,
    name: 'the driver',
    channel: 'the channel',
  });
  expect([client, withLimit({ qps: 1, burst: 1 })]).toMatchObject([{ isShared: true }, { isSecond: true }]);
  expect(metrics).toEqual(expect.objectContaining({ gauge: expect.any(Function) }));
  expect(run.metrics.value('objects')).toBe(1);
  run.events.length = 0;
  run.stopping.abort();
  run.session.abort(new OrderlyStop());
  expect(await run.end).toEqual({ kind: 'stopped' });
  expect(run.events).toEqual([
    'elector of resizer removed while working',
    'arrive resizer while working',
    'elected resizer while working',
  ]);
  expect(run.metrics.value('objects')).toBe(undefined);
});

const cause = new Error('cause');
const lacking = new ExitError(1, 'cannot', { reason: 'driver', cause });
const refused = new ExitError(255, 'may not', { reason: 'commandLine' });
const other = new ExitError(1, 'broken', { cause });
const strange = Object.assign(new Error('strange'), { reason: 'driver' });
const odd = Object.assign(new Error('odd'), { reason: 'commandLine' });

it.each<[string, Error | undefined, object]>([
  ['nothing', undefined, { kind: 'failed', error: new Error('the controller ended without a reason') }],
  ['a lack of the driver', lacking, { kind: 'lacking', error: lacking }],
  ['a command line that cannot work', refused, { kind: 'refused', error: refused }],
  ['an error of its program', other, { kind: 'failed', error: other }],
  ['a defect', strange, { kind: 'failed', error: strange }],
  ['another defect', odd, { kind: 'failed', error: odd }],
])(
  'given a run that ends with %s, then that is its end, unless the process stops or the driver is lost',
  async (...row) => {
    const [, error, expected] = row;
    const fail = () => (error === undefined ? Promise.resolve() : Promise.reject(error));
    const runs = await Promise.all([started({ run: fail }), started({ run: fail }), started({ run: fail })]);
    const [plain, lost, stopped] = runs;
    lost.lost.abort();
    stopped.stopping.abort();
    stopped.lost.abort();
    expect(await Promise.all(runs.map(({ end }) => end))).toEqual([
      expected,
      { kind: 'driverLost' },
      { kind: 'stopped' },
    ]);
    expect(getEventListeners(plain.session.signal, 'abort')).toEqual([]);
  },
);

it.each([
  ['pass', []],
  ['begin', ['elected resizer while working', 'begin while working']],
])('given a session that ends while the controller waits to %s, then it does not work', async (stopIn, steps) => {
  const run = await started({ stopIn });
  await run.end;
  expect(run.events.slice(4, -3)).toEqual(steps);
});

it('given a run that fails before it is announced, then the others do not wait for it', async () => {
  const run = await started({ prepare: () => Promise.reject(other) });
  expect(await run.end).toEqual({ kind: 'failed', error: other });
  expect(run.events).toEqual([
    'prepare while starting',
    'elector of resizer removed while starting',
    'arrive resizer while starting',
    'elected resizer while starting',
  ]);
});

it.each([
  ['is cut off', new Error('lost'), 'not sent: its sender may write nothing any more'],
  ['is to end', new OrderlyStop(), 'sent'],
] as const)('given work that %s, then a write after that is: %s', async (_, reason, outcome) => {
  const outcomes: string[] = [];
  const ref = { name: 'pv1' };
  const run = await started({
    run: async (signal, client) => {
      const clients = [client, run.context().withLimit({ qps: 1, burst: 1 })];
      await whenAborted(signal);
      for (const each of clients) {
        const write = each.delete(persistentVolumes, ref).then(
          () => 'sent',
          (error: unknown) => (error as Error).message,
        );
        outcomes.push(await write);
      }
    },
  });
  for (let time = 0; time < 2; time += 1) run.host.server.objects.seed(volume);
  await until(() => run.states.of(name) === 'working');
  await settle();
  run.session.abort(reason);
  await run.end;
  expect(outcomes[0]).toBe(outcome);
  expect(outcomes[1]).toMatch(outcome === 'sent' ? /not found/ : outcome);
});

const volume = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'pv1' },
  spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } },
} as never;

it('given an election, then the controller stands by until it leads, and its history and its health are kept', async () => {
  const run = await started({ election: { 'leader-election': true } });
  await until(() => run.states.of(name) === 'working');
  expect(run.visited).toEqual(['starting', 'standby', 'working']);
  expect(run.parts.history).toEqual({ hasLed: true });
  expect(run.elector()).toMatchObject({ isHealthy: true });
  expect(run.metrics.value('leader_election_master_status', { name: 'lock' })).toBe(1);
  expect(run.host.server.objects.get(leases, { namespace: 'ns', name: 'lock' })?.spec?.holderIdentity).toBe('pod-1');
  run.stopping.abort();
  run.session.abort(new OrderlyStop());
  expect(await run.end).toEqual({ kind: 'stopped' });
});

it.each([
  [false, 'at once'],
  [true, 'when it has run out'],
] as const)(
  'given a lease in the name of this process, when its controller has led before: %s, then it leads %s',
  async (hasLed, when) => {
    const held = Promise.withResolvers<void>();
    const election = { 'leader-election': true };
    const run = await started({ election, history: { hasLed }, prepare: () => held.promise });
    const renewTime = new Date(run.host.clock.nowMs()).toISOString().replace('Z', '000Z');
    run.host.server.seed({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'ns', name: 'lock' },
      spec: { holderIdentity: 'pod-1', leaseDurationSeconds: 15, acquireTime: renewTime, renewTime },
    });
    held.resolve();
    for (let turn = 0; turn < 20; turn += 1) await settle();
    expect(run.states.of(name)).toBe(when === 'at once' ? 'working' : 'standby');
    await run.host.clock.advance(25_000);
    await until(() => run.states.of(name) === 'working');
  },
);

it('given settings of an election that cannot work, then the command line is refused', async () => {
  const run = await started({ election: { 'leader-election': true, 'leader-election-lease-duration': 1_000 } });
  expect(await run.end).toEqual({
    kind: 'refused',
    error: expect.objectContaining({
      message: 'Invalid leader election configuration',
      code: 2,
      cause: expect.any(Error),
    }),
  });
});
