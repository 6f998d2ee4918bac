// SPDX-License-Identifier: Apache-2.0
/** The controllers beside each other: real driver socket, API server in memory, virtual time. */
import type { CsiChannel } from '@csi-sidecars/csi';
import { csiError, type Handlers, serveCsi } from '@csi-sidecars/csi/testing';
import {
  type ApiClient,
  type Controller,
  type ControllerPorts,
  events,
  type Lease,
  leases,
  persistentVolumeClaims,
  type PersistentVolume,
  persistentVolumes,
  runTogether,
  type Transport,
  TransportError,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { freePort, settle, until } from '@csi-sidecars/runtime/testing';
import type { DrivenProgram } from '@csi-sidecars/sidecar/testing';
import { volumeSnapshotContents } from '@csi-sidecars/volume';
import { describe, expect, it, vi } from 'vitest';
import {
  allCapabilities,
  attaching,
  capabilities,
  driverName,
  four,
  growing,
  healthy,
  runCombined,
  storageClass,
  waitingClaim,
  workForAll,
} from '../../testing/run-all.ts';
import { type AnySidecar, sidecars as sidecarsOfRepository } from './sidecars.ts';

const sidecars = ['attacher', 'provisioner', 'resizer', 'snapshotter'] as const;
const leaseNames = {
  attacher: 'external-attacher-leader-test-csi-example-com',
  provisioner: 'test-csi-example-com',
  resizer: 'external-resizer-test-csi-example-com',
  snapshotter: 'external-snapshotter-leader-test-csi-example-com',
} as const;
const elected = ['--leader-election', '--leader-election-namespace=ns'];

type Name = (typeof sidecars)[number];

const leaseOf = ({ host }: DrivenProgram, name: Name): Lease | undefined =>
  host.server.objects.get(leases, { namespace: 'ns', name: leaseNames[name] });
const holders = (program: DrivenProgram): readonly string[] =>
  sidecars.filter((name) => (leaseOf(program, name)?.spec?.holderIdentity ?? '') !== '');

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** What of the work of each controller is done. */
function done({ host: { server } }: DrivenProgram): readonly Name[] {
  const claim = server.objects.get(persistentVolumeClaims, { namespace: 'team', name: 'bound' });
  const work: Readonly<Record<Name, boolean>> = {
    attacher: server.objects.get(volumeAttachments, { name: 'va1' })?.status?.attached === true,
    provisioner: server.objects.get(persistentVolumes, { name: 'pvc-uid-data' }) !== undefined,
    resizer: claim?.status?.capacity?.['storage'] === '2Gi',
    snapshotter: server.objects.get(volumeSnapshotContents, { name: 'content' })?.status?.readyToUse === true,
  };
  return sidecars.filter((name) => work[name]);
}

const linesOf = (program: DrivenProgram, wanted: string): readonly string[] =>
  program.host
    .logged()
    .split('\n')
    .filter((line) => line.includes(wanted));

/** The exit code of a program that ends without the passing of virtual time. */
async function codeOf({ code }: DrivenProgram): Promise<number> {
  let isOver = false;
  void code.finally(() => (isOver = true));
  await until(() => isOver);
  return await code;
}

/** Lets time pass in steps, with everything that happens over sockets in between. */
async function pass(program: DrivenProgram, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await program.host.clock.advance(1_000);
    for (let turn = 0; turn < 5; turn += 1) await settle();
  }
}

async function eventually(program: DrivenProgram, isTrue: () => boolean, seconds = 60): Promise<void> {
  for (let second = 0; second < seconds * 4 && !isTrue(); second += 1) {
    for (let turn = 0; turn < 10 && !isTrue(); turn += 1) await settle();
    if (!isTrue()) await program.host.clock.advance(250);
  }
  expect(isTrue()).toBe(true);
}

interface Wrapped {
  readonly controller: Controller;
  readonly ports: ControllerPorts;
  /** A client of the controller with another rate limit. */
  readonly second: ApiClient;
  readonly channel: CsiChannel;
}

/** The snapshotter with other work. */
function snapshotterWith(run: (wrapped: Wrapped) => Controller['run']): AnySidecar {
  const { snapshotter } = sidecarsOfRepository;
  return {
    ...snapshotter,
    prepare: async (context) => {
      const second = context.withLimit({ qps: -1, burst: 1 });
      const prepared = await snapshotter.prepare(context);
      return {
        ...prepared,
        assemble: (ports) => {
          const controller = prepared.assemble(ports);
          return { ...controller, run: run({ controller, ports, second, channel: context.channel }) };
        },
      };
    },
  };
}

describe('all controllers', () => {
  it('[common#83] given --events=outcome, then all controllers do their work, and no event says that something begins', async () => {
    await using program = await runCombined({ args: [four, '--events=outcome'], seed: workForAll() });
    const reasons = () => program.host.server.objects.list(events).map(({ reason = '' }) => reason);
    await eventually(program, () => done(program).length === 4 && reasons().length > 1);
    await pass(program, 10);
    expect(reasons().toSorted()).toEqual(['ProvisioningSucceeded', 'VolumeResizeSuccessful']);
  });

  it("[all-in-one#5] given the arguments of the PoC's README, then four controllers do their work", async () => {
    await using program = await runCombined({
      args: [
        four,
        ...elected,
        '--attacher-timeout=30s',
        '--resizer-resize-timeout=30s',
        '--resizer-modify-timeout=30s',
        '--snapshotter-timeout=30s',
        '--attacher-worker-threads=5',
        '--provisioner-volume-name-prefix=pvc',
      ],
      seed: workForAll(),
    });
    await eventually(program, () => done(program).length === 4);
    expect(holders(program)).toEqual(sidecars);
    expect(linesOf(program, 'controller="snapshotter"').length).toBeGreaterThan(0);
    program.host.stop();
    await pass(program, 2);
    expect(await codeOf(program)).toBe(0);
    expect([holders(program), program.host.connections()]).toEqual([[], 0]);
  });

  it('given four controllers, then there is one connection, one watch of each kind, and each question is asked once', async () => {
    await using program = await runCombined({ args: [four], seed: workForAll() });
    await eventually(program, () => done(program).length === 4);
    const { server } = program.host;
    const watched = server.requests.filter(({ verb }) => verb === 'watch').map(({ resource }) => resource);
    expect(watched.toSorted()).toEqual([
      'csinodes',
      'persistentvolumeclaims',
      'persistentvolumes',
      'pods',
      'storageclasses',
      'volumeattachments',
      'volumesnapshotclasses',
      'volumesnapshotcontents',
      'volumesnapshots',
    ]);
    expect(program.host.connections()).toBe(1);
    const asked = program.calls().filter((call) => /Probe|GetPluginInfo|Capabilities/.test(call));
    expect(asked).toEqual([...new Set(asked)]);
  });

  it('given a controller that works alone, then pods are watched for the resizer only', async () => {
    await using program = await runCombined({ args: ['--controllers=provisioner,attacher'] });
    await eventually(program, () => linesOf(program, 'Caches are synced').length === 2);
    const { server } = program.host;
    expect(server.requests.filter(({ resource }) => resource === 'pods')).toEqual([]);
  });

  it('[all-in-one#15] given a driver without snapshots, then the snapshotter is parked with one error, and three work', async () => {
    const port = await freePort();
    const handlers: Handlers = {
      '/csi.v1.Controller/ControllerGetCapabilities': () =>
        capabilities(...allCapabilities.filter((type) => type !== 'CREATE_DELETE_SNAPSHOT')),
    };
    await using program = await runCombined({
      handlers,
      args: [four, ...elected, `--http-endpoint=127.0.0.1:${port}`],
      seed: workForAll(),
    });
    await eventually(program, () => done(program).length === 3);
    await pass(program, 30);
    expect(done(program)).toEqual(['attacher', 'provisioner', 'resizer']);
    const errors = program.host
      .logged()
      .split('\n')
      .filter((line) => line.startsWith('E'));
    expect(errors).toEqual([
      expect.stringMatching(/does not support ControllerCreateSnapshot.*parked.*controller="snapshotter"/),
    ]);
    expect(leaseOf(program, 'snapshotter')).toBeUndefined();
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(page).toContain('csi_sidecars_controller_state{controller="snapshotter",state="parked"} 1');
    expect(page).toContain('csi_sidecars_controller_state{controller="resizer",state="working"} 1');
    expect((await fetch(`http://127.0.0.1:${port}/healthz/leader-election`)).status).toBe(200);
  });

  it('[all-in-one#16] given an address and four controllers, then no series is there twice, and each lease has one', async () => {
    const port = await freePort();
    await using program = await runCombined({
      args: [four, ...elected, `--http-endpoint=127.0.0.1:${port}`],
      seed: workForAll(),
    });
    await eventually(program, () => done(program).length === 4);
    const lines = (await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).split('\n');
    const series = lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.replace(/ \S+$/, ''));
    expect(series.length).toBeGreaterThan(100);
    expect(series.filter((each, index) => series.indexOf(each) !== index)).toEqual([]);
    const headers = lines.filter((line) => line.startsWith('# TYPE'));
    expect(new Set(headers).size).toBe(headers.length);
    expect(lines.filter((line) => line.startsWith('leader_election_master_status')).toSorted()).toEqual(
      Object.values(leaseNames)
        .map((name) => `leader_election_master_status{name="${name}"} 1`)
        .toSorted(),
    );
    const health = await Promise.all(
      sidecars.map(async (name) => (await fetch(`http://127.0.0.1:${port}/healthz/leader-election/${name}`)).status),
    );
    expect(health).toEqual([200, 200, 200, 200]);
  });
});

/** Another process takes a lease away, as an administrator or a defect may. */
async function steal(program: DrivenProgram, name: Name, holderIdentity: string): Promise<void> {
  const { server, clock } = program.host;
  const lease = leaseOf(program, name);
  const spec = {
    ...lease?.spec,
    holderIdentity,
    renewTime: new Date(clock.nowMs()).toISOString().replace('Z', '001Z'),
  };
  const answer = await server.transport({
    method: 'PATCH',
    path: `/apis/coordination.k8s.io/v1/namespaces/ns/leases/${leaseNames[name]}`,
    headers: { 'content-type': 'application/merge-patch+json', accept: 'application/json', 'user-agent': 'thief' },
    body: Buffer.from(JSON.stringify({ spec })),
    signal: new AbortController().signal,
  });
  expect(answer.status).toBe(200);
}

describe('leases', () => {
  it('[all-in-one#18] given the stolen lease of the resizer, then it stops its calls in time, and the other leases stay', async () => {
    let cancelled = false;
    const handlers: Handlers = {
      '/csi.v1.Controller/ControllerExpandVolume': (_, { signal }) =>
        new Promise(() => signal.addEventListener('abort', () => (cancelled = true), { once: true })),
    };
    await using program = await runCombined({
      handlers,
      args: [four, ...elected, '--resizer-timeout=10m'],
      seed: workForAll(),
    });
    await eventually(program, () => done(program).length === 3 && program.calls().includes('ControllerExpandVolume'));
    const stolenAtMs = program.host.clock.monotonicMs();
    await steal(program, 'resizer', 'pod-2');
    program.host.server.clearRequests();
    await eventually(program, () => cancelled, 10);
    // Long before the others would count the lease as expired.
    expect(program.host.clock.monotonicMs() - stolenAtMs).toBeLessThan(10_000);
    await pass(program, 5);
    const writes = program.host.server.writes().filter(({ userAgent }) => userAgent.endsWith('/resizer'));
    expect(writes).toEqual([]);
    expect(leaseOf(program, 'resizer')?.spec?.holderIdentity).toBe('pod-2');
    const others = (['attacher', 'provisioner', 'snapshotter'] as const).map(
      (name) => leaseOf(program, name)?.spec?.holderIdentity,
    );
    expect(others).toEqual(['pod-1', 'pod-1', 'pod-1']);
    expect(linesOf(program, 'the controller stands by')).toHaveLength(1);
    // The other holder is gone: the lease runs out, and this process leads again.
    await eventually(program, () => leaseOf(program, 'resizer')?.spec?.holderIdentity === 'pod-1', 60);
  });

  it('[all-in-one#18] given a stolen lease, when the work of its controller writes after that, then none of its clients sends anything', async () => {
    const outcomes: unknown[] = [];
    const late = snapshotterWith(({ ports, second }) => async (signal) => {
      await aborted(signal);
      for (const client of [ports.client, second]) {
        const write = client.delete(persistentVolumes, { name: 'pv1' });
        outcomes.push(await write.catch((error: unknown) => (error as Error).message));
      }
    });
    await using program = await runCombined({
      sidecars: { ...sidecarsOfRepository, snapshotter: late },
      args: ['--controllers=snapshotter', ...elected],
      seed: growing(),
    });
    await eventually(program, () => holders(program).length === 1);
    await steal(program, 'snapshotter', 'pod-2');
    program.host.server.clearRequests();
    await eventually(program, () => outcomes.length === 2, 15);
    expect(outcomes).toEqual(Array(2).fill('not sent: its sender may write nothing any more'));
    expect(program.host.server.writes().filter(({ resource }) => resource === 'persistentvolumes')).toEqual([]);
    expect(program.host.server.objects.get(persistentVolumes, { name: 'pv1' })?.metadata?.name).toBe('pv1');
  });

  it('[all-in-one#18] given work that does not end when its lease is lost, when the lease is free again, then the next term begins after the work has ended', async () => {
    const ended = Promise.withResolvers<void>();
    let terms = 0;
    const stubborn = snapshotterWith(() => async (signal) => {
      terms += 1;
      await aborted(signal);
      if (terms === 1) await ended.promise;
    });
    await using program = await runCombined({
      sidecars: { ...sidecarsOfRepository, snapshotter: stubborn },
      args: ['--controllers=snapshotter', ...elected],
    });
    await eventually(program, () => terms === 1);
    await steal(program, 'snapshotter', 'pod-2');
    await pass(program, 60);
    expect([terms, leaseOf(program, 'snapshotter')?.spec?.holderIdentity]).toEqual([1, 'pod-2']);
    ended.resolve();
    await eventually(program, () => terms === 2);
    expect(leaseOf(program, 'snapshotter')?.spec?.holderIdentity).toBe('pod-1');
  });

  it("[all-in-one#19] given upstream's csi-provisioner with its lease, then our attacher leads, and our provisioner takes over when the lease has run out", async () => {
    const foreign: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'ns', name: leaseNames.provisioner },
      spec: {
        holderIdentity: 'csi-provisioner-0',
        leaseDurationSeconds: 15,
        acquireTime: '2026-01-01T00:00:00.000000Z',
        renewTime: '2026-01-01T00:00:00.000000Z',
      },
    };
    await using program = await runCombined({
      args: ['--controllers=provisioner,attacher', ...elected],
      seed: [foreign, storageClass, waitingClaim(), ...attaching(), ...growing()],
    });
    await eventually(program, () => done(program).includes('attacher'), 5);
    expect(program.calls()).not.toContain('CreateVolume');
    await pass(program, 8);
    expect([holders(program), done(program)]).toEqual([['attacher', 'provisioner'], ['attacher']]);
    await eventually(program, () => done(program).includes('provisioner'), 30);
    expect(leaseOf(program, 'provisioner')?.spec?.holderIdentity).toBe('pod-1');
  });

  it('[all-in-one#27] given a watch that has been silent since before the lease, then a volume that the other holder has deleted is not deleted again', async () => {
    const foreign: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'ns', name: leaseNames.provisioner },
      spec: { holderIdentity: 'csi-provisioner-0', leaseDurationSeconds: 15 },
    };
    const [, volume] = growing() as [never, PersistentVolume];
    const released: PersistentVolume = {
      ...volume,
      metadata: {
        name: 'released',
        uid: 'uid-released',
        annotations: { 'pv.kubernetes.io/provisioned-by': driverName },
        finalizers: ['external-provisioner.volume.kubernetes.io/finalizer'],
      },
      spec: { ...volume.spec, persistentVolumeReclaimPolicy: 'Delete' },
      status: { phase: 'Released' },
    };
    let isSilent = false;
    async function* untilSilent(body: AsyncIterable<Uint8Array>) {
      const wasOpened = !isSilent;
      for await (const chunk of body) if (!isSilent || !wasOpened) yield chunk;
    }
    const intercept =
      (transport: Transport): Transport =>
      async (request) => {
        const answer = await transport(request);
        return request.path.includes('watch=') ? { ...answer, body: untilSilent(answer.body) } : answer;
      };
    await using program = await runCombined({
      intercept,
      handlers: { '/csi.v1.Controller/DeleteVolume': () => ({}) },
      args: ['--controllers=provisioner,attacher', ...elected],
      seed: [foreign, storageClass, waitingClaim(), ...attaching(), ...growing(), released],
    });
    await eventually(program, () => done(program).includes('attacher'), 5);
    isSilent = true;
    program.host.server.objects.remove(persistentVolumes, { name: 'released' });
    await eventually(program, () => done(program).includes('provisioner'), 30);
    await pass(program, 5);
    expect(program.calls()).not.toContain('DeleteVolume');
  });

  it.each([
    [400, 1],
    [600, 2],
  ])(
    '[all-in-one#28] given a lease that comes %d ms after the others, then the volumes are watched %d times',
    async (delayMs, watches) => {
      const late = Promise.withResolvers<void>();
      const intercept =
        (transport: Transport): Transport =>
        async (request) => {
          if (request.path.includes(`leases/${leaseNames.resizer}`)) await late.promise;
          return await transport(request);
        };
      await using program = await runCombined({ intercept, args: [four, ...elected], seed: workForAll() });
      await eventually(program, () => holders(program).length === 3, 1);
      await program.host.clock.advance(delayMs);
      late.resolve();
      await eventually(program, () => done(program).length === 4);
      const watched = program.host.server.requests.filter(
        ({ verb, resource }) => verb === 'watch' && resource === 'persistentvolumes',
      );
      expect(watched).toHaveLength(watches);
    },
  );

  it('[all-in-one#20] given a second process with the same identity, then the controller stops, says so, and does not fight for the lease', async () => {
    await using program = await runCombined({ args: [four, ...elected], seed: workForAll() });
    await eventually(program, () => done(program).length === 4);
    await steal(program, 'provisioner', 'pod-1');
    await eventually(program, () => linesOf(program, 'under the same identity').length === 1, 15);
    expect(linesOf(program, 'under the same identity')[0]).toMatch(/second container.*controller="provisioner"/);
    const renewTime = () => leaseOf(program, 'provisioner')?.spec?.renewTime;
    // The other container renews its lease, and this process leaves it alone.
    for (let round = 0; round < 6; round += 1) {
      await steal(program, 'provisioner', 'pod-1');
      const written = renewTime();
      await pass(program, 5);
      expect(renewTime()).toBe(written);
    }
    expect(holders(program)).toEqual(sidecars);
    expect(linesOf(program, 'the controller stands by')).toHaveLength(1);
  });

  it('[all-in-one#24] given an attacher that uses up its limit, then it delays neither the provisioner nor a lease', async () => {
    const many = Array.from({ length: 200 }, (_, at) => ({
      ...attaching()[1]!,
      metadata: { name: `va${at + 1}`, uid: `uid-va${at + 1}` },
    }));
    const claims = Array.from({ length: 5 }, (_, at) => waitingClaim(`data${at}`));
    await using program = await runCombined({
      args: [four, ...elected, '--kube-api-qps=5', '--kube-api-burst=10', '--attacher-worker-threads=100'],
      seed: [storageClass, ...claims, ...attaching().slice(0, 1), ...growing(), ...many],
    });
    const { server, clock } = program.host;
    await eventually(program, () => program.calls().filter((call) => call === 'CreateVolume').length === 5, 5);
    const attached = () => server.writes().filter(({ userAgent }) => userAgent.endsWith('/attacher')).length;
    expect(attached()).toBeLessThan(60);
    server.clearRequests();
    const fromMs = clock.monotonicMs();
    await pass(program, 20);
    const seconds = (clock.monotonicMs() - fromMs) / 1000;
    // Still at its limit, and every lease is renewed on time.
    expect(attached()).toBeGreaterThanOrEqual(seconds * 5 * 0.8);
    expect(attached()).toBeLessThanOrEqual(seconds * 5 + 10);
    const renewals = server.writes().filter(({ resource }) => resource === 'leases').length;
    expect(renewals).toBeGreaterThanOrEqual(4 * 3);
    expect(linesOf(program, 'Failed to renew')).toEqual([]);
  });
});

describe('failures', () => {
  it('[all-in-one#21] given a fault in the loops of one controller, then its calls are awaited, its lease is released, and it alone starts again after 1 s', async () => {
    const answers: (() => void)[] = [];
    const handlers: Handlers = {
      '/csi.v1.Controller/CreateSnapshot': () =>
        new Promise((resolve) => {
          answers.push(() => resolve({ snapshot: { snapshot_id: 's', ready_to_use: true } }));
        }),
    };
    const fault = Promise.withResolvers<never>();
    fault.promise.catch(() => undefined);
    let terms = 0;
    const faulty = snapshotterWith(({ controller }) => {
      const breaks = (): Promise<void> => {
        terms += 1;
        return terms === 1 ? fault.promise : new Promise(() => undefined);
      };
      return (signal) =>
        runTogether([(stop) => controller.run(stop), (stop) => Promise.race([breaks(), aborted(stop)])], signal);
    });
    await using program = await runCombined({
      handlers,
      sidecars: { ...sidecarsOfRepository, snapshotter: faulty },
      args: [four, ...elected],
      seed: workForAll(),
    });
    await eventually(program, () => done(program).length === 3 && answers.length === 1);
    fault.reject(new Error('a defect'));
    await pass(program, 3);
    // The call is under way: nothing else may work for the driver under this lease.
    expect([terms, holders(program)]).toEqual([1, sidecars]);
    const { clock } = program.host;
    answers[0]?.();
    await expect.poll(() => done(program)).toEqual(sidecars);
    await expect.poll(() => leaseOf(program, 'snapshotter')?.spec?.holderIdentity).toBe('');
    const releasedAtMs = clock.monotonicMs();
    expect(holders(program)).toEqual(['attacher', 'provisioner', 'resizer']);
    await eventually(program, () => terms === 2, 5);
    expect(clock.monotonicMs() - releasedAtMs).toBe(1_000);
    expect(leaseOf(program, 'snapshotter')?.spec?.holderIdentity).toBe('pod-1');
    expect(linesOf(program, 'The controller failed and starts again')).toEqual([
      expect.stringMatching(/a defect.*controller="snapshotter"/),
    ]);
    // One term of the others.
    const transitions = sidecars.map((name) => leaseOf(program, name)?.spec?.leaseTransitions);
    expect(transitions.slice(0, 3)).toEqual([0, 0, 0]);
  });

  it('given --controller-failure=exit, then the first failure drains the others and ends the process with 1', async () => {
    const handlers: Handlers = {
      '/csi.v1.Controller/ControllerGetCapabilities': () => csiError('Internal', 'broken'),
    };
    await using program = await runCombined({ handlers, args: [four, '--controller-failure=exit'] });
    expect(await codeOf(program)).toBe(1);
    expect(program.host.logged().trimEnd().split('\n').at(-1)).toContain('Failed to get the capabilities of the CSI');
  });

  it('given --controller-failure=exit and another controller whose call does not end in time, then the failure is logged before the deadline', async () => {
    const fault = Promise.withResolvers<never>();
    fault.promise.catch(() => undefined);
    const faulty: AnySidecar = {
      ...sidecarsOfRepository.snapshotter,
      prepare: async (context) => {
        const prepared = await sidecarsOfRepository.snapshotter.prepare(context);
        const assemble: typeof prepared.assemble = (ports) => ({
          ...prepared.assemble(ports),
          run: (signal) => Promise.race([fault.promise, aborted(signal)]),
        });
        return { ...prepared, assemble };
      },
    };
    await using program = await runCombined({
      handlers: { '/csi.v1.Controller/CreateVolume': () => new Promise(() => undefined) },
      sidecars: { ...sidecarsOfRepository, snapshotter: faulty },
      args: [four, ...elected, '--controller-failure=exit', '--shutdown-timeout=20s', '--timeout=10m'],
      seed: workForAll(),
    });
    await eventually(program, () => program.calls().includes('CreateVolume'));
    fault.reject(new Error('a defect'));
    await pass(program, 25);
    expect(await codeOf(program)).toBe(1);
    const errors = linesOf(program, '').filter((line) => line.startsWith('E'));
    expect(errors.slice(-2)).toEqual([
      expect.stringMatching(/csi-sidecars ends because of snapshotter.*a defect/),
      expect.stringContaining('shutdown deadline exceeded: waiting for provisioner'),
    ]);
  });

  it('[all-in-one#U8] given a controller that fails before it has announced what it will watch, then the others do not wait for it', async () => {
    const failing: AnySidecar = {
      ...sidecarsOfRepository.snapshotter,
      prepare: () => Promise.reject(new Error('a defect')),
    };
    await using program = await runCombined({
      sidecars: { ...sidecarsOfRepository, snapshotter: failing },
      args: [four],
      seed: workForAll(),
    });
    const { clock } = program.host;
    await vi.waitFor(
      async () => {
        await settle();
        expect(linesOf(program, 'Waiting for caches to sync')).toHaveLength(3);
      },
      { timeout: 20_000 },
    );
    expect(clock.monotonicMs()).toBe(0);
  });

  it('given questions that fail for a while, then each controller tries again, with longer and longer pauses', async () => {
    let failing = true;
    const handlers: Handlers = {
      '/csi.v1.Controller/ControllerGetCapabilities': () =>
        failing ? csiError('Internal', 'not yet') : capabilities(...allCapabilities),
    };
    await using program = await runCombined({ handlers, args: [four], seed: workForAll() });
    await eventually(program, () => linesOf(program, 'The controller failed').length >= 8, 5);
    expect(linesOf(program, 'afterSeconds=2').length).toBe(4);
    failing = false;
    await eventually(program, () => done(program).length === 4, 10);
  });
});

describe('the driver', () => {
  it('given capabilities that take longer than the attacher waits, then the others are not held up, and the attacher gets the answer next time', async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    let times = 0;
    const handlers: Handlers = {
      '/csi.v1.Controller/ControllerGetCapabilities': async () => {
        times += 1;
        asked.resolve();
        await answer.promise;
        return capabilities(...allCapabilities);
      },
    };
    await using program = await runCombined({ handlers, args: [four], seed: workForAll() });
    await asked.promise;
    await pass(program, 3);
    const failures = linesOf(program, 'The controller failed');
    expect(failures.length).toBeGreaterThan(0);
    for (const line of failures) expect(line).toMatch(/context deadline exceeded.*controller="attacher"/);
    answer.resolve();
    await eventually(program, () => done(program).length === 4, 10);
    expect(times).toBe(1);
    expect(linesOf(program, 'The controller failed').every((line) => line.includes('controller="attacher"'))).toBe(
      true,
    );
  });

  it('[all-in-one#22] given a socket that is gone for a minute while calls run, then there is one reconnect, each question is asked once, and all work is done', async () => {
    let isUp = false;
    const hang: Handlers = {
      '/csi.v1.Controller/CreateVolume': () =>
        isUp ? { volume: { volume_id: 'volume-1', capacity_bytes: '5368709120' } } : new Promise(() => undefined),
      '/csi.v1.Controller/ControllerPublishVolume': () => (isUp ? {} : new Promise(() => undefined)),
      '/csi.v1.Controller/ControllerExpandVolume': () =>
        isUp ? { capacity_bytes: '2147483648', node_expansion_required: false } : new Promise(() => undefined),
      '/csi.v1.Controller/CreateSnapshot': () =>
        isUp ? { snapshot: { snapshot_id: 's', ready_to_use: true } } : new Promise(() => undefined),
    };
    await using program = await runCombined({ handlers: hang, args: [four, ...elected], seed: workForAll() });
    const begun = ['CreateVolume', 'ControllerPublishVolume', 'ControllerExpandVolume', 'CreateSnapshot'];
    await eventually(program, () => begun.every((call) => program.calls().includes(call)));
    const before = program.calls().length;
    program.driver.stop();
    await eventually(program, () => holders(program).length === 0, 10);
    await pass(program, 60);
    expect(holders(program)).toEqual([]);
    isUp = true;
    const calls: string[] = [];
    const again = await serveCsi(
      Object.fromEntries(
        Object.entries({ ...healthy, ...hang }).map(([method, handler]) => [
          method,
          (...args: readonly unknown[]) => {
            calls.push(method.split('/').at(-1) ?? '');
            return (handler as (...values: readonly unknown[]) => unknown)(...args);
          },
        ]),
      ),
      program.driver.path,
    );
    await eventually(program, () => done(program).length === 4, 60);
    expect(program.calls().length).toBe(before);
    const asked = calls.filter((call) => !begun.includes(call));
    expect(asked.toSorted()).toEqual(['ControllerGetCapabilities', 'GetPluginCapabilities', 'GetPluginInfo', 'Probe']);
    expect(linesOf(program, 'Lost connection')).toHaveLength(1);
    program.host.stop();
    expect(await codeOf(program)).toBe(0);
    again.stop();
  });

  it('[all-in-one#26] given a controller whose run takes long to end after the driver was lost, when the driver is back, then the others begin at once, and it begins when its run has ended', async () => {
    const ended = Promise.withResolvers<void>();
    let runs = 0;
    const slow = snapshotterWith(({ controller }) => async (signal) => {
      runs += 1;
      await controller.run(signal);
      if (runs === 1) await ended.promise;
    });
    await using program = await runCombined({
      sidecars: { ...sidecarsOfRepository, snapshotter: slow },
      args: [four, ...elected],
    });
    await eventually(program, () => linesOf(program, 'Caches are synced').length === 4);
    program.driver.stop();
    await eventually(program, () => linesOf(program, 'Lost connection').length === 1);
    for (const object of workForAll()) program.host.server.seed(object);
    const again = await serveCsi(healthy, program.driver.path);
    await eventually(program, () => done(program).length === 3, 4);
    expect(done(program)).toEqual(['attacher', 'provisioner', 'resizer']);
    await pass(program, 10);
    expect([done(program), runs]).toEqual([['attacher', 'provisioner', 'resizer'], 1]);
    ended.resolve();
    await eventually(program, () => done(program).length === 4);
    expect(runs).toBe(2);
    program.host.stop();
    await pass(program, 2);
    expect(await codeOf(program)).toBe(0);
    again.stop();
  });

  it('given a driver that comes back under another name, then the process ends with 1', async () => {
    await using program = await runCombined({ args: ['--controllers=attacher'] });
    await eventually(program, () => linesOf(program, 'Caches are synced').length === 1);
    program.driver.stop();
    await eventually(program, () => linesOf(program, 'Lost connection').length === 1);
    const again = await serveCsi(
      { ...healthy, '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'other.csi.example.com' }) },
      program.driver.path,
    );
    await eventually(program, () => linesOf(program, 'other.csi.example.com').some((line) => line.startsWith('E')), 20);
    expect(await codeOf(program)).toBe(1);
    expect(linesOf(program, '').at(-2)).toMatch(
      /csi-sidecars ends because of the driver" err="the driver was test.csi.example.com, now it is other.csi.example.com"/,
    );
    again.stop();
  });

  it('[runtime#41a] given an API server that refuses watches, then the log has the reason once for all controllers', async () => {
    const intercept =
      (transport: Transport): Transport =>
      (request) =>
        request.path.includes('watch=') ? Promise.reject(new TransportError('refused', 'refused')) : transport(request);
    await using program = await runCombined({ args: [four], intercept });
    await eventually(program, () => linesOf(program, 'Waiting for caches to sync').length === 4);
    await pass(program, 12);
    expect(linesOf(program, 'of the API server fail')).toEqual([expect.stringMatching(/^E.* err="refused"/)]);
  });

  it('given no driver, then the process waits for it, and ends with 0 when it is stopped', async () => {
    await using program = await runCombined({ args: [four] });
    program.driver.stop();
    await pass(program, 120);
    program.host.stop();
    await pass(program, 2);
    expect(await codeOf(program)).toBe(0);
  });
});

describe('the end', () => {
  it('given work that asks the driver once more while it ends, then the driver answers', async () => {
    const outcomes: string[] = [];
    let begun = false;
    const asking = snapshotterWith(({ channel }) => async (signal) => {
      begun = true;
      await aborted(signal);
      await settle();
      const { signal: never } = new AbortController();
      const answer = channel.call('/csi.v1.Identity/Probe', {}, { timeoutMs: 1_000, signal: never });
      outcomes.push(
        await answer.then(
          () => 'answered',
          (error: unknown) => String(error),
        ),
      );
    });
    await using program = await runCombined({
      sidecars: { ...sidecarsOfRepository, snapshotter: asking },
      args: ['--controllers=snapshotter'],
    });
    await eventually(program, () => begun);
    program.host.stop();
    await eventually(program, () => outcomes.length === 1, 5);
    expect([outcomes, await codeOf(program)]).toEqual([['answered'], 0]);
  });

  it.each([
    ['true', ['provisioner']],
    ['false', ['attacher', 'provisioner', 'resizer', 'snapshotter']],
  ])(
    '[all-in-one#23] given a call that is not over at the end of --shutdown-timeout, with ReleaseLeaderElectionOnExit=%s, then exit 1 with the name of its controller, and these leases are held: %j',
    async (gate, held) => {
      let answer: (() => void) | undefined;
      const handlers: Handlers = {
        '/csi.v1.Controller/CreateVolume': () => new Promise(() => undefined),
        '/csi.v1.Controller/CreateSnapshot': () =>
          new Promise((resolve) => {
            answer = () => resolve({ snapshot: { snapshot_id: 's', ready_to_use: true } });
          }),
      };
      await using program = await runCombined({
        handlers,
        args: [
          four,
          ...elected,
          '--shutdown-timeout=20s',
          '--timeout=10m',
          `--feature-gates=ReleaseLeaderElectionOnExit=${gate}`,
        ],
        seed: workForAll(),
      });
      await eventually(program, () => answer !== undefined && program.calls().includes('CreateVolume'));
      expect(program.host.onSignal()).toBe('drain');
      program.host.stop();
      await pass(program, 5);
      answer?.();
      await pass(program, 20);
      expect(await codeOf(program)).toBe(1);
      expect(program.host.logged().trimEnd().split('\n').at(-1)).toContain(
        'shutdown deadline exceeded: waiting for provisioner',
      );
      expect(done(program)).toContain('snapshotter');
      expect(holders(program)).toEqual(held);
    },
  );
});

vi.setConfig({ testTimeout: 20_000 });
