// SPDX-License-Identifier: Apache-2.0
/** The whole program with an API server in memory and virtual time. */
import type { KubeObject } from '@csi-sidecars/runtime';
import { leases } from '@csi-sidecars/runtime';
import { type DecideFault, type Fault, freePort, settle, withFaults } from '@csi-sidecars/runtime/testing';
import { parseFlags, resolveGates, usageText } from '@csi-sidecars/sidecar';
import { type FakeHost, fakeHost, realArgumentLists } from '@csi-sidecars/sidecar/testing';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { groupSnapshotTypes, snapshotTypes } from '@csi-sidecars/volume/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aSnapshot, aVolume } from '../testing/builders.ts';
import { snapshotControllerProgram } from './flags.ts';
import * as groupMessages from './group-snapshot/messages.ts';
import { runSnapshotController } from './program.ts';
import { toSettings } from './read-settings.ts';

interface Options {
  readonly args?: readonly string[];
  /** Each content is created only after this. */
  readonly creation?: Promise<void>;
  /** Holds the lease already. */
  readonly leader?: string;
  readonly kinds?: 'all' | 'single' | 'none';
  readonly seed?: readonly KubeObject[];
  /** What a request of this kind meets after so many milliseconds. */
  readonly faultFor?: (resource: string, afterMs: number) => Fault | undefined;
}

interface Running extends AsyncDisposable {
  readonly host: FakeHost;
  readonly code: Promise<number>;
}

function run({ args = [], kinds = 'all', seed = [], creation, leader, faultFor }: Options = {}): Running {
  const host = fakeHost({ args, intercept: (transport) => withFaults(transport, { clock: host.clock, decide }) });
  const decide: DecideFault = ({ resource }) => faultFor?.(resource, host.clock.nowMs() - host.startedAtMs);
  if (kinds !== 'none') host.server.addTypes(...snapshotTypes);
  if (kinds === 'all') host.server.addTypes(...groupSnapshotTypes);
  for (const object of seed) host.server.seed(object);
  if (leader !== undefined) host.server.seed(leaseOf(leader, host.clock.nowMs()));
  const connectApi = creation === undefined ? host.connectApi : connectsLate(host, creation);
  const code = runSnapshotController({ host: { ...host, connectApi }, lifecycle: host.lifecycle });
  code.catch(() => undefined);
  return {
    host,
    code,
    [Symbol.asyncDispose]: async () => {
      host.stop();
      await Promise.race([code.catch(() => 0), settle()]);
    },
  };
}

/** The event about a creation takes half a second. */
function connectsLate({ connectApi, clock }: FakeHost, creation: Promise<void>): FakeHost['connectApi'] {
  return async (options) => {
    const api = await connectApi(options);
    const create: typeof api.client.create = async (resource, ...rest) => {
      if (resource.plural === 'volumesnapshotcontents') await creation;
      if ((rest[0] as { readonly reason?: string }).reason === 'CreatingSnapshot') await clock.sleep(500);
      return await api.client.create(resource, ...rest);
    };
    return { ...api, client: { ...api.client, create } };
  };
}

const election = ['--leader-election', '--leader-election-namespace=ns'];
const leaseRef = { namespace: 'ns', name: 'snapshot-controller-leader' };

function leaseOf(holderIdentity: string, nowMs: number): KubeObject {
  const time = new Date(nowMs).toISOString().replace('Z', '000Z');
  const spec = { holderIdentity, leaseDurationSeconds: 15, acquireTime: time, renewTime: time, leaseTransitions: 0 };
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { ...leaseRef, uid: 'lease' },
    spec,
  } as KubeObject;
}

const holder = ({ host }: Running): string | undefined =>
  host.server.objects.get(leases, leaseRef)?.spec?.holderIdentity ?? undefined;
/** `volumesnapshots/status` */
const written = ({ host }: Running): readonly string[] =>
  host.server.writes().map(({ resource, subresource }) => [resource, subresource].filter(Boolean).join('/'));

const watched = ({ host }: Running): readonly string[] =>
  host.server.requests
    .filter(({ verb }) => verb === 'watch')
    .map(({ resource }) => resource)
    .toSorted();
const single = [
  'persistentvolumeclaims',
  'persistentvolumes',
  'volumesnapshotclasses',
  'volumesnapshotcontents',
  'volumesnapshots',
];
const all = [...single, 'volumegroupsnapshotclasses', 'volumegroupsnapshotcontents', 'volumegroupsnapshots'].toSorted();
const cluster = [aClaim(), aVolume(), aClass(), aSnapshot()];
const isTaken = ({ host }: Running): boolean =>
  host.server.objects.get(volumeSnapshots, { namespace: 'team', name: 'snap' })?.status
    ?.boundVolumeSnapshotContentName !== undefined;

/** Virtual time goes on in small steps, as the program asks for it. */
async function pass(it: Running, ms: number, stepMs = 100): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await settle();
    await it.host.clock.advance(stepMs);
  }
  await settle();
}

describe('the definitions', () => {
  it('[snapshot-controller#173] given definitions that come later, then the program waits for them and works', async () => {
    await using it = run({ kinds: 'none', seed: [] });
    await pass(it, 10_000);
    expect(watched(it)).toEqual([]);
    it.host.server.addTypes(...snapshotTypes, ...groupSnapshotTypes);
    await pass(it, 10_000);
    expect(watched(it)).toEqual(all);
  });

  it('[snapshot-controller#173] given definitions that never come, then exit code 1 after the limit', async () => {
    await using it = run({ kinds: 'none' });
    await pass(it, 29_500);
    expect(it.host.logged()).not.toContain('Exiting due to failure');
    await pass(it, 1_000);
    expect(await it.code).toBe(1);
    expect(it.host.logged()).toMatch(
      /"Exiting due to failure to ensure CRDs exist during startup" err=".* \(asked for \d+ s: .*are the definitions of snapshots installed, .*\)"\n$/,
    );
  });

  it('[snapshot-controller#175] given a limit of zero, then it is one second', async () => {
    await using it = run({ kinds: 'none', args: ['--retry-crd-interval-max=0'] });
    await pass(it, 900);
    expect(it.host.logged()).not.toContain('Exiting due to failure');
    await pass(it, 300);
    expect(await it.code).toBe(1);
  });

  it('[snapshot-controller#174] given no definitions of groups, then a warning, no caches of them, and single snapshots are taken', async () => {
    await using it = run({ kinds: 'single', seed: cluster, args: ['--retry-crd-interval-max=1s'] });
    await pass(it, 2_000);
    await expect.poll(() => isTaken(it)).toBe(true);
    expect(watched(it)).toEqual(single);
    expect(it.host.logged()).toContain('disabling the VolumeGroupSnapshot feature for this run');
  });

  it('[snapshot-controller#189] given an API server that is away while the definitions of groups are asked for, for longer than the limit, then groups are watched when it is back', async () => {
    const args = ['--retry-crd-interval-max=5s'];
    let asked = false;
    const faultFor = (resource: string, afterMs: number): Fault | undefined => {
      asked ||= resource.startsWith('volumegroup');
      return asked && afterMs < 7_000 ? { kind: 'break', point: 'before', failure: 'refused' } : undefined;
    };
    await using it = run({ args, faultFor });
    await pass(it, 10_000);
    expect(watched(it)).toEqual(all);
  });

  it('[snapshot-controller#189] given an API server that fails for groups alone, then they are asked for once more, and then single snapshots are taken without them', async () => {
    const args = ['--retry-crd-interval-max=1s'];
    const faultFor = (resource: string): Fault | undefined =>
      resource.startsWith('volumegroup')
        ? { kind: 'status', point: 'before', code: 500, reason: 'InternalError' }
        : undefined;
    await using it = run({ args, seed: cluster, faultFor });
    await pass(it, 4_000);
    await expect.poll(() => isTaken(it)).toBe(true);
    expect(watched(it)).toEqual(single);
  });

  it('given the alpha gate VolumeSnapshotTopology, then it is accepted, and a snapshot gets its content as before', async () => {
    await using it = run({ args: ['--feature-gates=VolumeSnapshotTopology=true'], seed: cluster });
    await pass(it, 1_000);
    await expect.poll(() => isTaken(it)).toBe(true);
    const [content] = it.host.server.objects.list(volumeSnapshotContents);
    expect(Object.keys(content?.spec ?? {})).not.toContain('nodeAffinity');
  });

  it('given the gate of groups is off, then they are neither asked for nor watched', async () => {
    await using it = run({ args: ['--feature-gates=CSIVolumeGroupSnapshot=false'] });
    await expect.poll(() => watched(it)).toEqual(single);
    expect(it.host.server.requests.some(({ resource }) => resource.startsWith('volumegroup'))).toBe(false);
  });

  it('[snapshot-controller#122, 121] given distributed snapshotting, then nodes are watched, and without it they are not', async () => {
    await using it = run({ args: ['--enable-distributed-snapshotting'] });
    await expect.poll(() => watched(it)).toEqual(['nodes', ...all]);
    await using plain = run();
    await expect.poll(() => watched(plain)).toEqual(all);
  });
});

describe('the process', () => {
  it('given an endpoint, then its page shows the two metrics of upstream, the start of the process, and nothing else', async () => {
    const port = await freePort();
    const args = [`--http-endpoint=127.0.0.1:${port}`, ...election];
    await using it = run({ args, seed: cluster });
    // The limit of requests is upstream's.
    await pass(it, 10_000);
    expect(isTaken(it)).toBe(true);
    const ref = { name: 'snapcontent-uid-of-snap' };
    const status = { creationTime: 1n, readyToUse: false };
    it.host.server.objects.change(volumeSnapshotContents, ref, (content) => ({ ...content, status }));
    await pass(it, 1_000);
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const families = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map((match) => `${match[1]} ${match[2]}`);
    expect(families.toSorted()).toEqual([
      'process_start_time_seconds gauge',
      'snapshot_controller_operation_total_seconds histogram',
      'snapshot_controller_operations_in_flight gauge',
    ]);
    expect(text).toContain('snapshot_controller_operations_in_flight 1');
    expect((await fetch(`http://127.0.0.1:${port}/healthz/leader-election`)).status).toBe(200);
  });

  it('[snapshot-controller#176] given leader election, then the lease has the name of upstream, and who loses it ends with 1', async () => {
    await using it = run({ args: election, seed: cluster });
    const { server, clock } = it.host;
    await expect.poll(() => holder(it)).toBe('pod-1');
    server.objects.change(leases, leaseRef, (lease) => ({
      ...lease,
      spec: { ...lease.spec, holderIdentity: 'pod-2' },
    }));
    for (let i = 0; i < 30; i++) {
      await settle();
      await clock.advance(1_000);
    }
    expect(await it.code).toBe(1);
    expect(it.host.logged()).toContain('Stopped leading');
  });

  it('[snapshot-controller#177, 178] given a stop while a content is created, then the run is finished, its event is sent, and nothing crashes', async () => {
    const creation = Promise.withResolvers<void>();
    await using it = run({ seed: cluster, creation: creation.promise });
    await pass(it, 10_000);
    expect(isTaken(it)).toBe(false);
    it.host.stop();
    await pass(it, 1_000);
    it.host.server.clearRequests();
    creation.resolve();
    await pass(it, 3_000);
    expect(await it.code).toBe(0);
    // The next process writes the status.
    expect(written(it).toSorted()).toEqual(['events', 'volumesnapshotcontents']);
    const [event] = it.host.server.writes().filter(({ resource }) => resource === 'events');
    expect(event?.body).toMatchObject({ reason: 'CreatingSnapshot' });
  });

  it('[common#83] given --events=outcome, when a content is created, then no event says so', async () => {
    await using it = run({ args: ['--events=outcome'], seed: cluster });
    await pass(it, 10_000);
    expect([isTaken(it), written(it).includes('events')]).toEqual([true, false]);
    expect(groupMessages.creating('ns/group')).toMatchObject({ reason: 'CreatingGroupSnapshot', isStart: true });
  });

  it('[P20] given a signal to the leader while a content is created, then the run is finished, its event is sent, the lease is released last, and the exit code is 0', async () => {
    const creation = Promise.withResolvers<void>();
    await using it = run({ args: election, seed: cluster, creation: creation.promise });
    await pass(it, 10_000);
    expect([it.host.onSignal(), holder(it)]).toEqual(['drain', 'pod-1']);
    it.host.stop();
    await pass(it, 1_000);
    expect(holder(it)).toBe('pod-1');
    it.host.server.clearRequests();
    creation.resolve();
    await pass(it, 3_000);
    expect(await it.code).toBe(0);
    expect(written(it).filter((each) => !['events', 'leases'].includes(each))).toEqual(['volumesnapshotcontents']);
    const reasons = it.host.server.writes().map(({ body }) => (body as { readonly reason?: string }).reason);
    expect(reasons.indexOf('CreatingSnapshot')).toBeGreaterThanOrEqual(0);
    expect(reasons.indexOf('CreatingSnapshot')).toBeLessThan(written(it).lastIndexOf('leases'));
    expect(written(it).findLast((each) => each !== 'events')).toBe('leases');
    expect(holder(it)).toBe('');
  });

  it('[P20] given a signal to a replica that does not lead, then it ends at once, and the lease stays with its holder', async () => {
    await using it = run({ args: election, seed: cluster, leader: 'pod-2' });
    await pass(it, 3_000);
    expect([it.host.onSignal(), isTaken(it)]).toEqual(['drain', false]);
    it.host.stop();
    await pass(it, 1_000);
    expect(await it.code).toBe(0);
    expect([holder(it), written(it)]).toEqual(['pod-2', []]);
  });

  it('[P20] given that the gate of the release is off, then a signal ends the process at once, as with upstream', async () => {
    await using it = run({ args: [...election, '--feature-gates=ReleaseLeaderElectionOnExit=false'], seed: cluster });
    await pass(it, 3_000);
    expect(it.host.onSignal()).toBe('exit');
  });

  it.each([
    { args: ['--worker-threads=0'], code: 1, line: '--worker-threads must be at least 1' },
    { args: ['--feature-gates=NoSuchGate=true'], code: 255, line: 'unrecognized feature gate: NoSuchGate' },
    { args: ['--csi-address=/x'], code: 2, line: 'csi-address' },
    { args: ['--enable-volume-group-snapshots'], code: 2, line: 'enable-volume-group-snapshots' },
    { args: ['--logging-format=xml'], code: 1, line: 'LoggingConfiguration is invalid' },
    { args: ['--http-endpoint=256.0.0.1:1'], code: 255, line: 'Failed to start HTTP server' },
  ])('given $args, then one clear line and $code', async ({ args, code, line }) => {
    await using it = run({ args });
    await pass(it, 1_000);
    expect(await it.code).toBe(code);
    expect(it.host.logged()).toContain(line);
  });

  it('given --version, then name and version, and 0', async () => {
    await using it = run({ args: ['--version'] });
    expect([await it.code, it.host.printed()]).toEqual([0, '/program v1.2.3\n']);
  });
});

describe('the command line', () => {
  it('given the real argument lists of snapshot-controller, then each is accepted', () => {
    const refused = realArgumentLists('snapshot-controller').flatMap((list): readonly string[] => {
      const { flags, syntax, gates } = snapshotControllerProgram;
      const result = parseFlags(flags, syntax, list.args);
      if (result.kind !== 'parsed') return [JSON.stringify(result)];
      const resolved = resolveGates(gates, result.values['feature-gates']);
      return resolved.kind === 'resolved' ? result.positionals : [resolved.message];
    });
    expect(refused).toEqual([]);
  });

  it("given what deployments leave out, then the built-in values are upstream's, and the usage names every flag", async () => {
    const { flags, syntax, name } = snapshotControllerProgram;
    const parsed = parseFlags(flags, syntax, []);
    if (parsed.kind !== 'parsed') throw new Error('not parsed');
    expect(toSettings(parsed.values, { groups: true })).toEqual({
      workerThreads: 10,
      retryIntervalStartMs: 1_000,
      retryIntervalMaxMs: 300_000,
      resyncMs: 900_000,
      distributed: false,
      recordVolumeMode: true,
      groups: true,
    });
    expect(parsed.values).toMatchObject({ 'kube-api-qps': 5, 'kube-api-burst': 10, 'retry-crd-interval-max': 30_000 });
    const text = await usageText(name, flags);
    for (const flag of Object.keys(flags)) expect(text).toMatch(new RegExp(`-${flag}\\b`));
  });
});
