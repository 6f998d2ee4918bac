// SPDX-License-Identifier: Apache-2.0
/** Whole programs of one loop that labels PersistentVolumes, over an API server in memory and in virtual time. */
import net from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { describe, expect, it, vi } from 'vitest';
import {
  createFakeApiServer,
  FakeClock,
  freePort,
  memoryFiles,
  recordedStderr,
  recordingLogger,
  recordingTracer,
  seededRandom,
  startTestServer,
  until,
} from '../../testing/index.ts';
import type { KubeObject, Lease, PersistentVolume } from '../api/objects.ts';
import type { ClusterConfig } from '../api/cluster/cluster-config.ts';
import { loadClusterConfig } from '../api/cluster/load-cluster-config.ts';
import { type ApiClientOptions, createApiClient } from '../api/create-client.ts';
import { leases, persistentVolumes } from '../api/resource.ts';
import { userAgent } from '../api/user-agent.ts';
import { systemClock } from '../clock/system-clock.ts';
import { type Conclusion, done } from '../controller/reconcile.ts';
import { type Transport, TransportError } from '../api/transport.ts';
import { openGate } from '../controller/start-gate.ts';
import { createInformerFactory } from '../informer/factory.ts';
import { keyOf, type ObjectKey } from '../informer/key.ts';
import { conclude, perform } from '../loop/flow.ts';
import { defineLoop } from '../loop/define-loop.ts';
import type { Loop, LoopTypes, Run } from '../loop/loop.ts';
import type { CrashOrigin, SignalName } from '../process/shutdown.ts';
import type { Webhooks } from '../webhook/webhooks.ts';
import type { RunControllerOptions } from './options.ts';
import { runController } from './run-controller.ts';

interface Seen extends LoopTypes {
  key: ObjectKey;
  watched: { volumes: PersistentVolume };
  observed: object;
  conclusion: Conclusion;
}

const labels = (onLabel: () => Promise<void> = () => Promise.resolve()): Loop => {
  async function label({ key, client }: Run<Seen>): Promise<void> {
    await onLabel();
    const patch = { type: 'merge', body: { metadata: { labels: { seen: 'yes' } } } } as const;
    await client.patch({ resource: persistentVolumes, ref: { name: key } }, patch).catch(() => undefined);
  }
  return defineLoop<Seen>({
    name: 'labels',
    settings: { workerThreads: 1, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 60_000 },
    watches: { volumes: { resource: persistentVolumes } },
    handlers: { volumes: ({ current }) => (isNew(current) ? keyOf(current) : undefined) },
    observe: () => ({}),
    flow: function* () {
      yield* perform('L1', label);
      return conclude('L2', done);
    },
  });
};

function isNew(volume: PersistentVolume | undefined): volume is PersistentVolume {
  return volume !== undefined && volume.metadata?.labels?.['seen'] !== 'yes';
}

const volume = (name: string): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name, uid: `uid-of-${name}` },
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi: { driver: 'd', volumeHandle: name } },
});

const otherLeader: Lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'labels', namespace: 'apps' },
  spec: { holderIdentity: 'other', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' },
};

function aProgram(options: Partial<RunControllerOptions> = {}, seed: readonly KubeObject[] = [volume('a')]) {
  const clock = new FakeClock();
  const server = createFakeApiServer({ clock, random: seededRandom(1) });
  for (const object of seed) server.objects.seed(object);
  const logger = recordingLogger({ verbosity: 0 });
  const signals = new Map<SignalName, () => void>();
  const exits: number[] = [];
  let crash: (error: unknown, origin: CrashOrigin) => void = () => undefined;
  let opened = 0;
  let closed = 0;
  const connect = async () => {
    opened += 1;
    return {
      host: 'sim',
      transport: server.transport,
      close: async () => {
        closed += 1;
      },
    };
  };
  let hasEnded = false;
  const ended = runController({
    name: 'labels',
    loops: [labels()],
    lease: { name: 'labels', namespace: 'apps', identity: 'pod-1' },
    listen: '',
    clock,
    random: seededRandom(2),
    env: {},
    files: memoryFiles(),
    hostName: 'pod-1',
    logger,
    process: {
      onSignal: (name, listener) => signals.set(name, listener),
      onCrash: (listener) => (crash = listener),
      exit: (code) => exits.push(code),
    },
    loadConfig: async () => ({
      endpoint: { scheme: 'http', host: 'sim', port: 80, basePath: '' },
      tls: { verify: 'server' },
      user: { kind: 'anonymous' },
    }),
    connect,
    ...options,
  }).finally(() => (hasEnded = true));
  return {
    clock,
    server,
    connect,
    logger,
    exits,
    ended,
    hasEnded: () => hasEnded,
    kill: () => signals.get('SIGTERM')?.(),
    crash: () => crash(new Error('defect'), 'unhandledRejection'),
    connections: () => ({ opened, closed }),
    writes: () => server.writes().map(({ verb, resource, name }) => `${verb} ${resource} ${name ?? ''}`.trim()),
    holder: () => server.objects.list(leases)[0]?.spec?.holderIdentity,
    seen: () => server.objects.list(persistentVolumes).map(({ metadata }) => metadata?.labels?.['seen']),
  };
}

describe('a program around loops', () => {
  it('[runtime#191] given a lease, when the process leads and is asked to end, then it works under the lease and releases it', async () => {
    const program = aProgram();
    await program.clock.advance(1_000);
    expect([program.seen(), program.holder(), program.hasEnded()]).toEqual([['yes'], 'pod-1', false]);
    program.kill();
    await program.clock.advance(1_000);
    await program.ended;
    expect(program.exits).toEqual([0]);
    expect(program.holder()).toBe('');
    expect(program.writes().filter((write) => !write.includes('events'))).toEqual([
      'create leases',
      'patch persistentvolumes a',
      'update leases labels',
    ]);
    expect(program.connections()).toEqual({ opened: 2, closed: 2 });
    expect(program.clock.pending).toBe(0);
  });

  it('[runtime#191] given a reconcile that runs when the process is asked to end, then the cache is followed and the lease is held until the reconcile has ended', async () => {
    const held = Promise.withResolvers<void>();
    const program = aProgram({ loops: [labels(() => held.promise)] });
    await program.clock.advance(1_000);
    program.kill();
    await program.clock.advance(8_000);
    expect([program.holder(), program.server.openWatches(), program.exits]).toEqual(['pod-1', 1, []]);
    held.resolve();
    await program.clock.advance(1_000);
    expect([program.holder(), program.server.openWatches(), program.exits]).toEqual(['', 0, [0]]);
    expect(program.seen()).toEqual(['yes']);
  });

  it('[runtime#191] given a cache that fails while a reconcile runs, then the lease is held until the reconcile has ended, no further key is worked on, and the program ends with 1', async () => {
    const held = Promise.withResolvers<void>();
    const defect = Promise.withResolvers<never>();
    const program = aProgram(
      {
        loops: [labels(() => held.promise)],
        createInformers: (deps) => {
          const factory = createInformerFactory(deps);
          return { ...factory, start: (signal) => Promise.race([factory.start(signal), defect.promise]) };
        },
      },
      [volume('a'), volume('b')],
    );
    await program.clock.advance(1_000);
    defect.reject(new Error('a cache failed'));
    await program.clock.advance(8_000);
    expect([program.holder(), program.exits]).toEqual(['pod-1', []]);
    held.resolve();
    await program.clock.advance(1_000);
    expect([program.holder(), program.exits]).toEqual(['', [1]]);
    expect(program.writes().filter((write) => write.startsWith('patch'))).toEqual(['patch persistentvolumes a']);
  });

  it('[runtime#192] given another leader, then a standby lists and watches nothing but the lease', async () => {
    const program = aProgram({}, [volume('a'), otherLeader]);
    await program.clock.advance(5_000);
    expect(program.server.requests.filter(({ resource }) => resource !== 'leases')).toEqual([]);
    program.kill();
    await program.clock.advance(1_000);
    expect(program.exits).toEqual([0]);
  });

  it('[runtime#193] given no lease, then it works at once, over one connection', async () => {
    const program = aProgram({ lease: undefined });
    await program.clock.advance(100);
    expect(program.writes()).toEqual(['patch persistentvolumes a']);
    program.kill();
    await program.clock.advance(1_000);
    expect([program.exits, program.connections()]).toEqual([[0], { opened: 1, closed: 1 }]);
  });

  it.each(['a path', 'a KubeConfig of client-node'])(
    'given %s, then the program speaks to the server that it names, with its credentials',
    async (given) => {
      const text = [
        "clusters: [{ name: c, cluster: { server: 'https://127.0.0.1:8001/base' } }]",
        'users: [{ name: u, user: { token: secret } }]',
        'contexts: [{ name: x, context: { cluster: c, user: u } }]',
        'current-context: x',
      ].join('\n');
      const config = new KubeConfig();
      config.loadFromString(text);
      const connected: ClusterConfig[] = [];
      const program = aProgram({
        kubeconfig: given === 'a path' ? '/config' : config,
        files: memoryFiles({ '/config': text }),
        loadConfig: loadClusterConfig,
        connect: async (_deps, found) => {
          connected.push(found);
          return await program.connect();
        },
      });
      await until(() => connected.length > 0);
      await program.clock.advance(1_000);
      const [{ endpoint, user } = { endpoint: undefined, user: undefined }] = connected;
      expect(endpoint).toEqual({ scheme: 'https', host: '127.0.0.1', port: 8001, basePath: '/base' });
      expect(user?.kind === 'header' && user.authorization()).toBe('Bearer secret');
      expect(program.seen()).toEqual(['yes']);
      program.kill();
      await program.clock.advance(1_000);
    },
  );

  it('given a tracer, then each run of the loops has a span, and its write to the server is below it', async () => {
    const tracer = recordingTracer();
    const program = aProgram({ tracer });
    await program.clock.advance(1_000);
    expect(tracer.runs[0]).toMatchObject({
      name: 'reconcile labels',
      children: [{ name: 'PATCH persistentvolumes', attributes: { 'server.address': 'sim' } }],
    });
    program.kill();
    await program.clock.advance(1_000);
    await program.ended;
  });

  it('[runtime#194] given a lease that another process took, then the program ends with 1', async () => {
    const program = aProgram();
    await program.clock.advance(1_000);
    program.server.objects.change(leases, { namespace: 'apps', name: 'labels' }, (lease) => ({
      ...lease,
      spec: { ...lease.spec, holderIdentity: 'other' },
    }));
    await program.clock.advance(15_000);
    expect(program.exits).toEqual([1]);
    expect(program.logger.messages()).toContain('Stopped leading');
  });

  it.each([
    { result: 'released', isStopped: true, code: 0, logged: [] },
    { result: 'stopped', isStopped: true, code: 0, logged: [] },
    { result: 'lost', isStopped: true, code: 1, logged: [{ result: 'lost' }] },
    { result: 'stopped', isStopped: false, code: 1, logged: [{ result: 'stopped' }] },
    { result: 'lost', isStopped: false, code: 1, logged: [{ result: 'lost' }] },
  ] as const)(
    'given an election that ends as $result, asked to end: $isStopped, then the code is $code, and the log has $logged',
    async ({ result, isStopped, code, logged }) => {
      const over = Promise.withResolvers<void>();
      const program = aProgram({
        elect: async () => {
          await over.promise;
          return result;
        },
      });
      await program.clock.advance(10);
      if (isStopped) program.kill();
      over.resolve();
      await program.ended;
      expect(program.exits).toEqual([code]);
      const lines = program.logger.lines.filter(({ message }) => message === 'Stopped leading');
      expect(lines.map(({ facts }) => facts)).toEqual(logged);
    },
  );

  it('given no lease and work that ends by itself, then the program ends with 1 and says that it stopped', async () => {
    const program = aProgram({ lease: undefined, loops: [] });
    await program.ended;
    expect(program.exits).toEqual([1]);
    expect(program.logger.lines.at(-1)).toMatchObject({ message: 'Stopped leading', facts: { result: 'stopped' } });
  });

  it.each([
    { drainMs: undefined, endsMs: 25_000 },
    { drainMs: 5_000, endsMs: 5_000 },
  ])(
    'given a reconcile that never ends and a drain of $drainMs ms, then the process exits after $endsMs ms',
    async (row) => {
      const { drainMs, endsMs } = row;
      const loops = [labels(() => new Promise(() => undefined))];
      const program = aProgram({ loops, ...(drainMs !== undefined && { drainMs }) });
      await program.clock.advance(1_000);
      program.kill();
      await program.clock.advance(endsMs - 1);
      expect(program.exits).toEqual([]);
      await program.clock.advance(1);
      expect(program.exits).toEqual([1]);
    },
  );

  it('given no log, then stderr has the last line before the process exits', async () => {
    using stderr = recordedStderr();
    const exits: string[] = [];
    const exit = (code: number): void => void exits.push(`${code} after ${stderr.text()}`);
    const port = { onSignal: () => undefined, onCrash: () => undefined, exit };
    const { ended } = aProgram({
      lease: undefined,
      loops: [],
      clock: systemClock(),
      logger: undefined as never,
      process: port,
    });
    await ended;
    expect(exits).toEqual([expect.stringMatching(/^1 after [^]*"Stopped leading" [^]*result="stopped"\n$/)]);
  });

  it('[runtime#41a] given an API server that refuses connections, then the log has the reason after seconds, and reports when the server answers', async () => {
    let isUp = false;
    const program = aProgram({
      lease: undefined,
      createClient: (deps, options) =>
        createApiClient(
          {
            ...deps,
            transport: (request) =>
              isUp ? deps.transport(request) : Promise.reject(new TransportError('refused', 'connect ECONNREFUSED')),
          },
          options,
        ),
    });
    await program.clock.advance(12_000);
    expect(program.logger.messages()).toEqual([
      'Waiting for caches to sync',
      'Lists and watches of the API server fail',
    ]);
    isUp = true;
    await program.clock.advance(60_000);
    expect(program.logger.messages().slice(2)).toEqual(['The API server answers again', 'Caches are synced']);
    expect(program.writes()).toEqual(['patch persistentvolumes a']);
  });

  it.each([
    { given: {}, endsMs: 300_000 },
    { given: { syncTimeoutMs: 20_000 }, endsMs: 20_000 },
  ])(
    '[runtime#253] given a kind that the server does not have, and the options $given, then after $endsMs ms the log names it, the lease is released, and the program ends with 1',
    async ({ given, endsMs }) => {
      const program = aProgram(given);
      program.server.removeTypes(persistentVolumes);
      await program.clock.advance(endsMs - 1_000);
      expect([program.exits, program.holder()]).toEqual([[], 'pod-1']);
      await program.clock.advance(2_000);
      expect([program.exits, program.holder()]).toEqual([[1], '']);
      const failures = program.logger.lines.filter(({ message }) => /cache|program/.test(message));
      expect(failures).toMatchObject([
        { message: 'Waiting for caches to sync' },
        {
          message: 'The cache has not synced',
          error: { status: 404 },
          facts: { reflector: 'persistentvolumes', hint: 'is the definition of this kind installed?' },
        },
        {
          message: 'The program failed',
          error: { message: `caches have not synced within ${endsMs / 1000} s: persistentvolumes` },
        },
      ]);
    },
  );

  it('[runtime#253] given syncTimeoutMs: 0 and a kind that the server does not have, then the program waits for it', async () => {
    const program = aProgram({ syncTimeoutMs: 0 });
    program.server.removeTypes(persistentVolumes);
    await program.clock.advance(3_600_000);
    expect([program.exits, program.holder()]).toEqual([[], 'pod-1']);
    program.kill();
    await program.clock.advance(1_000);
    expect(program.exits).toEqual([0]);
  });

  it('[runtime#195] given credentials that cannot be loaded, then the program logs why and ends with 1', async () => {
    const program = aProgram({ loadConfig: () => Promise.reject(new Error('no such file')) });
    await program.clock.advance(10);
    await program.ended;
    expect(program.exits).toEqual([1]);
    expect(program.logger.lines).toMatchObject([{ kind: 'error', message: 'The program failed' }]);
    expect(program.connections()).toEqual({ opened: 0, closed: 0 });
  });

  const webhooks = (serve: Webhooks['serve']): Webhooks => ({ admission: [], port: 9443, certificates: '/', serve });

  it('[runtime#238] [runtime#262] given a standby with webhooks, then they are served until it ends, and get the metrics of the program', async () => {
    const happened: string[] = [];
    const served = webhooks(async ({ logger, metrics }) => {
      logger.info(0, 'webhooks');
      expect(metrics?.counter({ name: 'reviews', help: '' })).toHaveProperty('inc');
      happened.push('served');
      return { port: 1, [Symbol.asyncDispose]: async () => void happened.push('closed') };
    });
    const program = aProgram({ webhooks: served }, [volume('a'), otherLeader]);
    await program.clock.advance(5_000);
    expect([happened, program.seen(), program.logger.messages()]).toEqual([
      ['served'],
      [undefined],
      expect.arrayContaining(['webhooks']),
    ]);
    program.kill();
    await program.clock.advance(1_000);
    await program.ended;
    expect([happened, program.exits]).toEqual([['served', 'closed'], [0]]);
  });

  it('[runtime#238] given webhooks as a function, then it gets the client of the program', async () => {
    const found: (string | undefined)[] = [];
    const program = aProgram({
      webhooks: ({ client }) =>
        webhooks(async () => {
          found.push((await client.get(persistentVolumes, { name: 'a' })).metadata?.name);
          return { port: 1, [Symbol.asyncDispose]: () => Promise.resolve() };
        }),
    });
    await program.clock.advance(1_000);
    expect(found).toEqual(['a']);
    program.kill();
    await program.clock.advance(1_000);
    expect(program.exits).toEqual([0]);
  });

  it('[runtime#238] given a leader with webhooks, when it ends, then they are served until the lease is released', async () => {
    const holders: (string | undefined)[] = [];
    const served = webhooks(async () => ({
      port: 1,
      [Symbol.asyncDispose]: async () => void holders.push(program.holder()),
    }));
    const program = aProgram({ webhooks: served });
    await program.clock.advance(1_000);
    expect([program.holder(), holders]).toEqual(['pod-1', []]);
    program.kill();
    await program.clock.advance(1_000);
    expect([holders, program.exits]).toEqual([[''], [0]]);
  });

  it('[runtime#238] given webhooks whose certificate cannot be read, then the program logs why, does nothing, and ends with 1', async () => {
    const program = aProgram({ webhooks: webhooks(() => Promise.reject(new Error('no certificate'))) });
    await program.clock.advance(10);
    await program.ended;
    expect(program.exits).toEqual([1]);
    expect(program.logger.lines).toMatchObject([
      { kind: 'error', message: 'The program failed', error: { message: 'no certificate' } },
    ]);
    expect([program.writes(), program.connections()]).toEqual([[], { opened: 1, closed: 1 }]);
  });

  it('[runtime#196] given loops as a function, then it gets the ports, and an event that could not be written yet is written before the lease is released', async () => {
    let failures = 1;
    const program = aProgram({
      loops: ({ events, client, gate }) => {
        expect([typeof client.get, gate?.open]).toEqual(['function', true]);
        events.record(volume('a'), { type: 'Normal', reason: 'Begun', message: 'begun' });
        return [labels()];
      },
      connect: async () => {
        const connection = await program.connect();
        const transport: Transport = async (request) => {
          if (Buffer.from(request.body ?? '').includes('"Begun"') && failures-- > 0)
            throw new TransportError('refused', '');
          return await connection.transport(request);
        };
        return { ...connection, transport };
      },
    });
    await program.clock.advance(100);
    program.kill();
    await program.clock.advance(1_000);
    const components = program.server
      .writes()
      .map(({ body }) => (body as { source?: { component: string } }).source?.component);
    expect(new Set(components)).toEqual(new Set([undefined, 'labels', 'labels/pod-1']));
    const writes = program.server
      .writes()
      .map(({ resource, body }) => (resource === 'events' ? (body as { reason: string }).reason : resource));
    expect(writes.filter((write) => write !== 'LeaderElection')).toEqual([
      'leases',
      'persistentvolumes',
      'Begun',
      'leases',
    ]);
    expect(program.exits).toEqual([0]);
  });

  it('[runtime#199] given two processes of one host without an identity, then one of them leads and the other waits', async () => {
    const lease = { name: 'labels', namespace: 'apps' };
    const first = aProgram({ lease });
    await first.clock.advance(1_000);
    expect(first.holder()).toMatch(/^pod-1_.{8,}$/);
    const second = aProgram({ lease, random: seededRandom(3), connect: first.connect });
    await second.clock.advance(10_000);
    expect(first.server.requests.filter(({ resource }) => resource === 'persistentvolumes')).toHaveLength(2);
    expect([first.exits, second.exits]).toEqual([[], []]);
  });

  it('[runtime#197] given an address, then metrics and health are served there, and a route of the author beside them', async () => {
    const port = await freePort();
    const program = aProgram({
      listen: `127.0.0.1:${port}`,
      routes: [{ path: '/own', handler: () => ({ status: 200, body: 'own' }) }],
    });
    const text = async (path: string): Promise<string> => {
      try {
        return await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
      } catch {
        return '';
      }
    };
    await until(async () => (await text('/healthz')) === 'ok');
    await program.clock.advance(1_000);
    expect(await text('/own')).toBe('own');
    const metrics = await text('/metrics');
    for (const line of [
      'leader_election_master_status{name="labels"} 1',
      'workqueue_adds_total{name="labels"} 1',
      'controller_runtime_reconcile_total{controller="labels",result="success"} 1',
      'controller_runtime_max_concurrent_reconciles{controller="labels"} 1',
      'rest_client_requests_total{code="200",host="sim",method="PATCH"} 1',
      'log_lines_dropped 0',
      `process_start_time_seconds ${performance.timeOrigin / 1000}`,
    ]) {
      expect(metrics).toContain(`${line}\n`);
    }
    program.clock.suspend(40_000);
    expect(await text('/healthz')).toContain('failed election to renew leadership');
    program.kill();
    await until(async () => {
      await program.clock.advance(100);
      return program.exits.length > 0;
    });
    expect(await text('/healthz')).toBe('');
  });

  it('[explain#82] given debugExplain, then what the program knows of an object is served; without it there is no such page', async () => {
    const ask = async (port: number) => await fetch(`http://127.0.0.1:${port}/debug/explain?kind=pv&key=a`);
    for (const debugExplain of ['loopback', undefined] as const) {
      const port = await freePort();
      const listen = `127.0.0.1:${port}`;
      const program = aProgram({ lease: undefined, listen, version: 'v7', ...(debugExplain && { debugExplain }) });
      await until(() => program.seen().includes('yes'));
      const response = await ask(port);
      expect(response.status).toBe(debugExplain === undefined ? 404 : 200);
      const document = debugExplain === undefined ? undefined : await response.json();
      if (debugExplain !== undefined)
        expect(document).toMatchObject({
          version: 'v7',
          pod: 'pod-1',
          controllers: [{ program: 'labels', leading: true, holder: null }],
        });
      program.kill();
      await program.ended;
    }
  });

  it('given debugExplain without an address, then the program ends with 1 and says why', async () => {
    const program = aProgram({ debugExplain: 'loopback' });
    await program.ended;
    expect(program.exits).toEqual([1]);
    expect(program.logger.lines).toMatchObject([{ error: { message: 'debugExplain needs listen' } }]);
  });

  it('given no lease, then the process is healthy', async () => {
    const port = await freePort();
    const program = aProgram({ lease: undefined, listen: `127.0.0.1:${port}` });
    await until(() => program.logger.messages().includes('ServeMux listening'));
    expect(await (await fetch(`http://127.0.0.1:${port}/healthz`)).text()).toBe('ok');
    program.kill();
    await program.ended;
  });

  it('given no address, then it listens on port 8080', async () => {
    const listened: unknown[] = [];
    vi.spyOn(net.Server.prototype, 'listen').mockImplementation(function (this: net.Server, where: unknown) {
      listened.push(where);
      return this.emit('error', new Error('in use')) && this;
    } as never);
    const program = aProgram({ listen: undefined });
    await program.ended;
    vi.restoreAllMocks();
    expect([listened, program.exits]).toEqual([[{ port: 8080 }], [1]]);
  });

  it('[runtime#198] given replaced parts, then each is used, and the others keep their defaults', async () => {
    const used: string[] = [];
    const program = aProgram({
      createClient: (deps, options) => {
        used.push(`client of ${options.userAgent.split(' ')[0]}`);
        return createApiClient(deps, options);
      },
      createInformers: (deps) => {
        used.push('informers');
        return createInformerFactory(deps);
      },
      elect: async (work, signal) => {
        used.push('election');
        await work(signal, openGate);
        return 'released';
      },
      version: 'v1.2.3',
    });
    await program.clock.advance(100);
    program.kill();
    await program.clock.advance(1_000);
    expect(used).toEqual(['client of labels/v1.2.3', 'election', 'informers']);
    expect([program.exits, program.writes()]).toEqual([[0], ['patch persistentvolumes a']]);
  });

  it.each([
    { given: {}, limits: { qps: 20, burst: 30 }, version: '' },
    { given: { qps: 5, burst: 10, version: 'v1.2.3' }, limits: { qps: 5, burst: 10 }, version: 'v1.2.3' },
  ])(
    'given $given, then its client has the limits $limits and the version "$version" in its user agent',
    async ({ given, limits, version }) => {
      const made: ApiClientOptions[] = [];
      const program = aProgram({
        ...given,
        lease: undefined,
        loops: [],
        createClient: (deps, options) => {
          made.push(options);
          return createApiClient(deps, options);
        },
      });
      await program.ended;
      expect(made).toEqual([{ ...limits, userAgent: userAgent({ binary: 'labels', version, commit: '' }) }]);
    },
  );

  it('given a kubeconfig and no parts of the connection, then its server is asked', async () => {
    await using server = await startTestServer({ answer: ({ response }) => response.writeHead(403).end('{}') });
    const kubeconfig = {
      clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${server.port}` } }],
      contexts: [{ name: 'x', context: { cluster: 'c' } }],
      'current-context': 'x',
    };
    const program = aProgram({
      lease: undefined,
      kubeconfig: '/kubeconfig',
      files: memoryFiles({ '/kubeconfig': JSON.stringify(kubeconfig) }),
      loadConfig: undefined as never,
      connect: undefined as never,
    });
    await until(() => server.requests.length > 0);
    expect(server.requests[0]).toContain('GET /api/v1/persistentvolumes');
    program.kill();
    await program.ended;
    expect(program.exits).toEqual([0]);
  });
});
