// SPDX-License-Identifier: Apache-2.0
/** A whole sidecar over a real driver socket and a real HTTP port, with an API server in memory and virtual time. */
import { type Lease, events, leases } from '@csi-sidecars/runtime';
import { settle, until } from '@csi-sidecars/runtime/testing';
import { type Handlers, csiError } from '@csi-sidecars/csi/testing';
import { describe, expect, it } from 'vitest';
import {
  type DrivenProgram,
  type FakeHost,
  type FakeHostOptions,
  fakeHost,
  runOverDriver,
} from '../../testing/index.ts';
import { type SampleGate, type SampleValues, sampleProgram } from '../../testing/sample-program.ts';
import { stringFlag } from '../flags/flag.ts';
import { ExitError } from './exit.ts';
import type { ApiOptions, ProgramHost } from './host.ts';
import type { ProgramDeps } from './run-controller-program.ts';
import { runSidecarProgram, type SidecarProgram, type StartContext } from './sidecar-program.ts';

type Body = Omit<SidecarProgram<SampleValues, SampleGate>, 'program'>;
type Context = StartContext<SampleValues, SampleGate>;
type Work = (signal: AbortSignal) => Promise<void>;

const driverName = 'a.example.com';
const healthy: Handlers = {
  '/csi.v1.Identity/Probe': () => ({ ready: { value: true } }),
  '/csi.v1.Identity/GetPluginInfo': () => ({ name: driverName }),
};

interface Running extends DrivenProgram {
  /** Resolves when the work has begun. */
  readonly working: Promise<Context & { readonly port: number }>;
}

/** Work that ends when it is asked to, in order. */
const untilStopped: Work = (signal) =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

async function run(
  options: FakeHostOptions & {
    readonly handlers?: Handlers;
    readonly body?: Partial<Body>;
    readonly work?: Work;
    readonly lease?: Lease['spec'];
    readonly program?: typeof sampleProgram;
    /** In the place of the host's own. */
    readonly connectApi?: (host: FakeHost) => ProgramHost['connectApi'];
  },
): Promise<Running> {
  const working = Promise.withResolvers<Context & { readonly port: number }>();
  const body: Body = {
    driver: (values) => ({ probeTimeoutMs: values.timeout, nameTimeoutMs: 1000 }),
    prepare: async (context) => ({
      lockName: `external-attacher-leader-${context.name}`,
      assemble: () => ({
        run: async (signal) => {
          working.resolve({ ...context, port: context.diagnostics?.port ?? 0 });
          await (options.work ?? untilStopped)(signal);
        },
      }),
    }),
    ...options.body,
  };
  const { program = sampleProgram, connectApi = (host) => host.connectApi } = options;
  const inHost = ({ host, lifecycle }: ProgramDeps) =>
    runSidecarProgram({ host: { ...host, connectApi: connectApi(host as FakeHost) }, lifecycle }, { program, ...body });
  const running = await runOverDriver(inHost, {
    ...options,
    handlers: { ...healthy, ...options.handlers },
    seed: options.lease === undefined ? [] : [aLease(options.lease)],
  });
  return { ...running, working: working.promise };
}

const lock = { namespace: 'default', name: 'external-attacher-leader-a-example-com' };

function aLease(spec: NonNullable<Lease['spec']>): Lease {
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: lock, spec };
}

function depsOf(host: FakeHost) {
  return { host, lifecycle: host.lifecycle };
}

function get(port: number, path: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`);
}

function leaseOf(host: FakeHost, namespace = 'default') {
  return host.server.objects.get(leases, { ...lock, namespace });
}

describe('the way to the work', () => {
  it('given a driver and no election, then the work runs, is stopped in order, and the exit code is 0', async () => {
    await using sidecar = await run({ args: ['-v=2'] });
    const { name, started, channel } = await sidecar.working;
    expect([name, started.values.timeout, sidecar.host.onSignal()]).toEqual([driverName, 15_000, 'drain']);
    sidecar.host.stop();
    expect(await sidecar.code).toBe(0);
    expect([sidecar.host.connections(), sidecar.host.server.requests]).toEqual([0, []]);
    await expect(channel.call('/csi.v1.Identity/Probe', {}, { timeoutMs: 1000 })).rejects.toThrow('code = Canceled');
    expect(sidecar.host.logged()).toContain('"CSI driver name" driver="a.example.com"\n');
    expect(sidecar.host.logged()).not.toMatch(/^E/m);
  });

  it('given work that ends by itself, then the exit code is 0, but 1 when it held a lease', async () => {
    const work = async (): Promise<void> => undefined;
    await using alone = await run({ work });
    expect([await alone.code, alone.host.server.requests]).toEqual([0, []]);
    await using leading = await run({ work, args: ['--leader-election'] });
    expect([await leading.code, leaseOf(leading.host)?.spec?.holderIdentity]).toEqual([1, '']);
  });

  it('given ReleaseLeaderElectionOnExit=false, then a signal ends the process at once', async () => {
    await using sidecar = await run({ args: ['--feature-gates=ReleaseLeaderElectionOnExit=false'] });
    await sidecar.working;
    expect(sidecar.host.onSignal()).toBe('exit');
  });

  it('given no driver, then it ends with 1 after 30 s, and the last line names the socket and the error', async () => {
    const host = fakeHost({ args: ['--csi-address=/nonexistent/csi.sock'] });
    const code = runSidecarProgram(depsOf(host), {
      program: sampleProgram,
      driver: () => ({ probeTimeoutMs: 1000, nameTimeoutMs: 1000 }),
      prepare: async () => ({ lockName: '', assemble: () => ({ run: untilStopped }) }),
    });
    // Attempts use the real file system: each pause begins only after it has answered.
    for (let second = 0; second < 30; second += 1) {
      await expect.poll(() => host.clock.pending === 1 && host.clock.monotonicMs() === second * 1000).toBe(true);
      await settle();
      await host.clock.advance(1000);
    }
    expect(await code).toBe(1);
    expect(host.logged().trimEnd().split('\n').at(-1)).toMatch(
      /^E.*"Failed to connect to CSI driver" err="context deadline exceeded: connect ENOENT \/nonexistent\/csi\.sock \(does the driver run, .*"$/,
    );
    expect(host.terminationLog().join('')).toMatch(
      /^Failed to connect to CSI driver: context deadline exceeded: connect ENOENT \/nonexistent\/csi\.sock \(does /,
    );
    expect(host.connections()).toBe(0);
  });

  it.each([
    [
      'a driver that is not healthy',
      { '/csi.v1.Identity/Probe': () => csiError('FailedPrecondition', 'sick') },
      'sick',
    ],
    ['a driver without a name', { '/csi.v1.Identity/GetPluginInfo': () => ({ name: '' }) }, 'driver name is empty'],
  ])('given %s, then it ends with 1', async (_given, handlers, text) => {
    await using sidecar = await run({ handlers });
    expect(await sidecar.code).toBe(1);
    expect(sidecar.host.logged()).toContain(text);
  });

  it('given a configuration that cannot reach a cluster, then it ends with 1 before it calls the driver', async () => {
    const host = fakeHost();
    const connectApi = () => Promise.reject(new Error('unable to load in-cluster configuration'));
    const deps = { host: { ...host, connectApi }, lifecycle: host.lifecycle };
    const body: Body = {
      driver: () => ({ probeTimeoutMs: 1000, nameTimeoutMs: 1000 }),
      prepare: () => Promise.reject(new Error('not reached')),
    };
    expect(await runSidecarProgram(deps, { program: sampleProgram, ...body })).toBe(1);
    expect(host.logged()).toMatch(
      /^E.*"Failed to create a Kubernetes client" err="unable to load in-cluster configuration"$/m,
    );
  });

  it('given a command line that is refused, or a preparation that fails, then the program ends with its exit code and its text', async () => {
    const text = 'option --worker-threads must be greater than zero';
    const prepare = (): Promise<never> => Promise.reject(new ExitError(255, text));
    await using early = await run({ body: { refused: () => text } });
    await using late = await run({ body: { prepare } });
    expect([await early.code, await late.code]).toEqual([1, 255]);
    for (const { host } of [early, late]) {
      expect(host.logged()).toMatch(/^E.*"option --worker-threads must be greater than zero"$/m);
      expect(host.terminationLog()).toEqual([text]);
      expect(host.connections()).toBe(0);
    }
  });

  it('given a program that asks for the name first, then it answers HTTP before the driver is ready, and works after that', async () => {
    const ready = Promise.withResolvers<void>();
    const order: string[] = [];
    await using sidecar = await run({
      args: ['--http-endpoint=127.0.0.1:0'],
      handlers: {
        '/csi.v1.Identity/Probe': async () => {
          await ready.promise;
          order.push('ready');
          return {};
        },
      },
      work: async () => void order.push('work'),
      body: { driver: () => ({ probeTimeoutMs: 60_000, nameTimeoutMs: 1000, order: 'nameFirst' }) },
    });
    await expect.poll(() => sidecar.host.logged().includes('"ServeMux listening"')).toBe(true);
    ready.resolve();
    expect([await sidecar.code, order]).toEqual([0, ['ready', 'work']]);
  });
});

describe('the clients of the API', () => {
  const withMaster = { ...sampleProgram, flags: { ...sampleProgram.flags, master: stringFlag('', 'API server URL.') } };
  it.each<readonly [string, Parameters<typeof run>[0], Partial<ApiOptions>]>([
    ['nothing else', {}, {}],
    [
      'an address of the server',
      { program: withMaster, args: ['--master=http://server'] },
      { master: 'http://server' },
    ],
    [
      'a kubeconfig of its own',
      { body: { kubeconfig: (values, env) => `${env['FOLDER']}${values.kubeconfig}` }, env: { FOLDER: '/folder' } },
      { kubeconfig: '/folder/kubeconfig' },
    ],
    ['request metrics', { body: { requestMetrics: true } }, {}],
  ])(
    'given their flags and %s, then the clients of the work and of the lease are made from them',
    async (_, options, expected) => {
      const asked: ApiOptions[] = [];
      const args = ['--leader-election', '--kubeconfig=/kubeconfig', '--kube-api-qps=7', '--kube-api-burst=8'];
      await using sidecar = await run({
        ...options,
        args: [...args, ...(options.args ?? [])],
        connectApi: (host) => (each) => {
          asked.push(each);
          return host.connectApi(each);
        },
      });
      const { log, metrics } = await sidecar.working;
      const given = { program: 'csi-sample', kubeconfig: '/kubeconfig', master: '', qps: 7, burst: 8, log };
      const all = { ...given, ...expected };
      expect(asked).toEqual([options.body?.requestMetrics ? { ...all, metrics } : all, all]);
    },
  );

  it.each([[true], [false]])(
    'given another rate limit and request metrics: %s, then the other client has them',
    async (counted) => {
      const asked: unknown[] = [];
      await using sidecar = await run({
        args: ['--check-rights=false'],
        body: counted ? { requestMetrics: true } : {},
        connectApi: (host) => async (options) => {
          const api = await host.connectApi(options);
          return {
            ...api,
            clientWith: (limits) => {
              asked.push(limits);
              return api.clientWith(limits);
            },
          };
        },
      });
      const { withLimit, log } = await sidecar.working;
      withLimit({ qps: 1, burst: 2 });
      expect(asked).toEqual([{ qps: 1, burst: 2, logger: log, counted }]);
    },
  );
});

describe('losing the driver', () => {
  it('given a driver that dies, then the termination log and the log report it, and the exit code is 1', async () => {
    await using sidecar = await run({});
    await sidecar.working;
    sidecar.driver.stop();
    expect(await sidecar.code).toBe(1);
    expect(sidecar.host.terminationLog()).toEqual(['Lost connection to CSI driver, exiting']);
    expect(sidecar.host.logged()).toMatch(/^E.*"Lost connection to CSI driver, exiting"$/m);
  });

  it('[common#14] given a termination log that cannot be written, then one more error is logged, and the exit code is still 1', async () => {
    await using sidecar = await run({ terminationLog: 'readOnly' });
    await sidecar.working;
    sidecar.driver.stop();
    expect(await sidecar.code).toBe(1);
    const errors = sidecar.host.logged().match(/^E.*\] (.*)$/gm) ?? [];
    expect(errors.map((line) => line.replace(/^.*?\] /, ''))).toEqual([
      '"Lost connection" address=' + JSON.stringify(sidecar.driver.path),
      '"Failed to write a message to the termination logfile" err="read-only file system"',
      '"Lost connection to CSI driver, exiting"',
    ]);
  });
});

describe('the HTTP endpoint', () => {
  it('given an address, then metrics are served, with the calls of the start', async () => {
    await using sidecar = await run({ args: ['--http-endpoint=127.0.0.1:0', '--metrics-path=/m'] });
    const { port } = await sidecar.working;
    const response = await get(port, '/m');
    const text = await response.text();
    expect(response.headers.get('process-start-time-unix')).toBe(String(sidecar.host.startedAtMs / 1000));
    expect(text).toContain(
      'csi_sidecar_operations_seconds_count{driver_name="unknown-driver",grpc_status_code="OK",method_name="/csi.v1.Identity/Probe"} 1\n',
    );
    expect(text).toContain('process_start_time_seconds ');
    expect(text).toContain('csi_sidecars_log_lines_dropped 0\n');
    expect((await get(port, '/metrics')).status).toBe(404);
    sidecar.host.stop();
    await sidecar.code;
    await expect(get(port, '/m')).rejects.toThrow('fetch failed');
  });

  it('given a driver that replaces an in-tree plugin, then its calls are distinguished by the label migrated', async () => {
    await using sidecar = await run({
      args: ['--http-endpoint=127.0.0.1:0'],
      body: {
        driver: () => ({ probeTimeoutMs: 1000, nameTimeoutMs: 1000, isMigrated: (name) => name === driverName }),
      },
    });
    const { port, channel } = await sidecar.working;
    await channel.call('/csi.v1.Identity/Probe', {}, { timeoutMs: 1000, migrated: true });
    const counts = (await (await get(port, '/metrics')).text()).match(/^csi_sidecar_operations_seconds_count.*$/gm);
    expect(counts).toEqual([
      'csi_sidecar_operations_seconds_count{driver_name="a.example.com",grpc_status_code="OK",method_name="/csi.v1.Identity/Probe",migrated="true"} 1',
    ]);
  });

  it('given scrapes, then each is counted when it is over', async () => {
    await using sidecar = await run({ args: ['--http-endpoint=127.0.0.1:0'] });
    const { port } = await sidecar.working;
    const scrape = async () =>
      (await (await get(port, '/metrics')).text()).match(/^promhttp_metric_handler_requests_.*$/gm);
    const inFlight = 'promhttp_metric_handler_requests_in_flight 1';
    const total = (ok: number) =>
      ['200', '500', '503'].map((code) => {
        const count = code === '200' ? ok : 0;
        return `promhttp_metric_handler_requests_total{code="${code}"} ${count}`;
      });
    expect((await scrape())?.sort()).toEqual([inFlight, ...total(0)]);
    expect((await scrape())?.sort()).toEqual([inFlight, ...total(1)]);
  });

  it('given --enable-pprof, then profiles are served beside the metrics, otherwise not', async () => {
    const args = ['--http-endpoint=127.0.0.1:0'];
    await using without = await run({ args });
    expect((await get((await without.working).port, '/debug/pprof/')).status).toBe(404);
    await using sidecar = await run({ args: [...args, '--enable-pprof'] });
    const { port } = await sidecar.working;
    expect(await (await get(port, '/debug/pprof/')).text()).toContain('profile');
    const { argv0, args: given, clock } = sidecar.host;
    expect((await (await get(port, '/debug/pprof/cmdline')).text()).split('\0')).toEqual([argv0, ...given]);
    let status = 0;
    void get(port, '/debug/pprof/heap?seconds=60').then((response) => (status = response.status));
    await until(async () => {
      await clock.advance(1000);
      return status !== 0;
    });
    expect(status).toBe(200);
  });

  it("given an address that is taken, then the program's exit code", async () => {
    await using first = await run({ args: ['--http-endpoint=127.0.0.1:0'] });
    const { port } = await first.working;
    await using second = await run({ args: [`--metrics-address=127.0.0.1:${port}`], body: { httpExitCode: 255 } });
    expect(await second.code).toBe(255);
    expect(second.host.logged()).toContain(`127.0.0.1:${port}`);
  });
});

describe('the election', () => {
  it('[common#73] given an election, then the work waits for the lease, and a stop hands it over with exit code 0 and without an error in the log', async () => {
    await using sidecar = await run({
      args: [
        '--leader-election',
        '--leader-election-namespace=ns',
        '--leader-election-labels=a:b',
        '--http-endpoint=127.0.0.1:0',
      ],
    });
    const { port } = await sidecar.working;
    expect(leaseOf(sidecar.host, 'ns')).toMatchObject({
      metadata: { labels: { a: 'b' } },
      spec: { holderIdentity: 'pod-1', leaseDurationSeconds: 15 },
    });
    const health = await get(port, '/healthz/leader-election');
    expect([health.status, await health.text()]).toEqual([200, 'ok']);
    expect(await (await get(port, '/metrics')).text()).toMatch(/^leader_election_master_status\{.*\} 1$/m);
    sidecar.host.stop();
    expect(await sidecar.code).toBe(0);
    expect(leaseOf(sidecar.host, 'ns')?.spec?.holderIdentity).toBe('');
    const lines = sidecar.host.logged().split('\n');
    expect(lines.filter((line) => line.includes('"Stopped leading"'))).toEqual([expect.stringMatching(/^I/)]);
    expect(lines.filter((line) => line.startsWith('E'))).toEqual([]);
    const recorded = sidecar.host.server.objects.list(events);
    expect(
      recorded.map(({ metadata, reason, message, source }) => [metadata?.namespace, reason, message, source]),
    ).toEqual([
      ['ns', 'LeaderElection', 'pod-1 became leader', { component: 'external-attacher-leader-a.example.com/pod-1' }],
      ['ns', 'LeaderElection', 'pod-1 stopped leading', { component: 'external-attacher-leader-a.example.com/pod-1' }],
    ]);
    expect(sidecar.host.connections()).toBe(0);
  });

  it('given a program that serves its own metrics only, then those of the election are not among them, and its health is served', async () => {
    const args = ['--leader-election', '--http-endpoint=127.0.0.1:0'];
    await using sidecar = await run({ args, body: { servedMetrics: 'own' } });
    const { port } = await sidecar.working;
    expect(await (await get(port, '/metrics')).text()).not.toContain('leader_election');
    sidecar.host.clock.suspend(35_001);
    expect((await get(port, '/healthz/leader-election')).status).toBe(500);
  });

  it('given a configuration that cannot reach the cluster of the lease, then it ends with 1', async () => {
    await using sidecar = await run({
      args: ['--leader-election'],
      connectApi: (host) => (options) =>
        host.connections() === 0 ? host.connectApi(options) : Promise.reject(new Error('no such file')),
    });
    expect(await sidecar.code).toBe(1);
    expect(sidecar.host.logged()).toMatch(/^E.*"Failed to create leaderelection client" err="no such file"$/m);
  });

  it('given a driver that returns its capabilities slowly, then the health path of the election is served already', async () => {
    const slow = Promise.withResolvers<never>();
    const preparing = Promise.withResolvers<number>();
    const body: Partial<Body> = {
      prepare: async ({ diagnostics }) => {
        preparing.resolve(diagnostics?.port ?? 0);
        return await slow.promise;
      },
    };
    await using sidecar = await run({ args: ['--leader-election', '--http-endpoint=127.0.0.1:0'], body });
    const health = await get(await preparing.promise, '/healthz/leader-election');
    expect([health.status, await health.text()]).toEqual([200, 'ok']);
    slow.reject(new ExitError(1, 'no'));
    expect(await sidecar.code).toBe(1);
  });

  it.each([
    ['without an election', ['--http-endpoint=127.0.0.1:0']],
    ['on an address for metrics alone', ['--leader-election', '--metrics-address=127.0.0.1:0']],
  ])('given the endpoint flag %s, then the health of the election is not served', async (_given, args) => {
    await using sidecar = await run({ args });
    const { port } = await sidecar.working;
    expect((await get(port, '/healthz/leader-election')).status).toBe(404);
  });

  it('[common#75] given ReleaseLeaderElectionOnExit=false, then a program that is stopped all the same ends with 1 as upstream, and leaves the lease to expire', async () => {
    await using sidecar = await run({
      args: ['--leader-election', '--feature-gates=ReleaseLeaderElectionOnExit=false'],
    });
    await sidecar.working;
    sidecar.host.stop();
    expect(await sidecar.code).toBe(1);
    expect(leaseOf(sidecar.host)?.spec?.holderIdentity).toBe('pod-1');
  });

  it('[common#73] given a lease of another replica, then it stands by, and ends with 0 without having worked', async () => {
    await using sidecar = await run({
      args: ['--leader-election', '--http-endpoint=127.0.0.1:0'],
      lease: { holderIdentity: 'pod-2', leaseDurationSeconds: 15 },
      work: () => Promise.reject(new Error('worked')),
    });
    await expect.poll(() => sidecar.host.server.requests.length > 0).toBe(true);
    sidecar.host.stop();
    expect(await sidecar.code).toBe(0);
    expect(sidecar.host.server.writes()).toEqual([]);
    expect(leaseOf(sidecar.host)?.spec?.holderIdentity).toBe('pod-2');
  });

  it('[common#74] given a lease that another replica takes while running work ends after a stop, then it ends with 1', async () => {
    await using sidecar = await run({ args: ['--leader-election'], work: () => new Promise(() => undefined) });
    await sidecar.working;
    sidecar.host.stop();
    sidecar.host.server.objects.change(leases, lock, (lease) => ({
      ...lease,
      spec: { ...lease.spec, holderIdentity: 'pod-2' },
    }));
    let code: number | undefined;
    void sidecar.code.then((it) => (code = it));
    for (let second = 0; second < 15; second += 1) {
      await sidecar.host.clock.advance(1_000);
      await settle();
    }
    expect(code).toBe(1);
    expect(sidecar.host.logged()).toMatch(/^E.*"Stopped leading"/m);
  });

  it('given durations that contradict each other, then it ends with 2, as a panic does', async () => {
    await using sidecar = await run({ args: ['--leader-election', '--leader-election-retry-period=9s'] });
    expect(await sidecar.code).toBe(2);
    expect(sidecar.host.logged()).toContain('"Invalid leader election configuration" err="');
    expect(sidecar.host.logged()).toContain('renewDeadline must be greater than retryPeriod*JitterFactor');
  });

  it('given no namespace flag, then the namespace of the environment is used, or else that of the service account', async () => {
    await using environment = await run({ args: ['--leader-election'], env: { POD_NAMESPACE: 'from-env' } });
    await environment.working;
    expect(leaseOf(environment.host, 'from-env')).toBeDefined();
  });

  it.each([[[]], [['--leader-election']]])(
    'given work that fails and the flags %j, then the defect is not swallowed',
    async (args) => {
      await using sidecar = await run({ args, work: () => Promise.reject(new TypeError('defect')) });
      await expect(sidecar.code).rejects.toThrow('defect');
      expect(sidecar.host.connections()).toBe(0);
    },
  );
});
