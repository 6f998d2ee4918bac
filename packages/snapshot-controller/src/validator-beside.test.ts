// SPDX-License-Identifier: Apache-2.0
/** volume-data-source-validator in the process of snapshot-controller, with an API server in memory and virtual time. */
import {
  aPopulator,
  claimOf,
  foreignKind,
  populatorType,
  validKind,
} from '@csi-sidecars/data-source-validator/testing';
import { events, type KubeObject, leases } from '@csi-sidecars/runtime';
import { type AccessRule, freePort, settle } from '@csi-sidecars/runtime/testing';
import { type FakeHost, fakeHost } from '@csi-sidecars/sidecar/testing';
import { volumeSnapshots } from '@csi-sidecars/volume';
import { groupSnapshotTypes, snapshotTypes } from '@csi-sidecars/volume/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aSnapshot, aVolume } from '../testing/builders.ts';
import { runSnapshotController } from './program.ts';
import { clusterRules } from './rbac.ts';

interface Options {
  readonly args?: readonly string[];
  readonly seed?: readonly KubeObject[];
  /** Definitions that are missing at the start. */
  readonly missing?: 'populators' | 'snapshots';
  /** Default: everything. */
  readonly rules?: readonly AccessRule[];
}

interface Running extends AsyncDisposable {
  readonly host: FakeHost;
  readonly code: Promise<number>;
}

const both = ['--enable-data-source-validator'];
const election = ['--leader-election', '--leader-election-namespace=ns'];
const snapshotApi = [...snapshotTypes, ...groupSnapshotTypes];

function run({ args = both, seed = [], missing, rules }: Options = {}): Running {
  const host = fakeHost({ args, ...(rules && { rules }) });
  if (missing !== 'snapshots') host.server.addTypes(...snapshotApi);
  if (missing !== 'populators') host.server.addTypes(populatorType);
  for (const object of seed) host.server.seed(object);
  const code = runSnapshotController({ host, lifecycle: host.lifecycle });
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

/** Virtual time goes on in small steps, as the program asks for it. */
async function pass(it: Running, ms: number, stepMs = 100): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await settle();
    await it.host.clock.advance(stepMs);
  }
  await settle();
}

const snapshotLease = { namespace: 'ns', name: 'snapshot-controller-leader' };
const validatorLease = { namespace: 'ns', name: 'data-source-validator-leader' };
const holders = ({ host }: Running): readonly (string | null | undefined)[] =>
  [snapshotLease, validatorLease].map((ref) => host.server.objects.get(leases, ref)?.spec?.holderIdentity);
/** The claims with an event of the validator. */
const warned = ({ host }: Running): readonly (string | undefined)[] =>
  host.server.objects
    .list(events)
    .flatMap(({ source, involvedObject }) =>
      source?.component === 'volume-data-source-validator' ? [involvedObject.name] : [],
    );
const isTaken = ({ host }: Running): boolean =>
  host.server.objects.get(volumeSnapshots, { namespace: 'team', name: 'snap' })?.status
    ?.boundVolumeSnapshotContentName !== undefined;
const listed = ({ host }: Running, resource: string): number =>
  host.server.requests.filter(
    (request) => request.resource === resource && (request.verb === 'list' || request.verb === 'watch'),
  ).length;
const loses = ({ host }: Running, ref: typeof snapshotLease): void =>
  void host.server.objects.change(leases, ref, (lease) => ({
    ...lease,
    spec: { ...lease.spec, holderIdentity: 'other', renewTime: new Date(host.clock.nowMs()).toISOString() },
  }));

const cluster = [aClaim(), aVolume(), aClass(), aSnapshot()];
const bad = claimOf(foreignKind, { name: 'bad' });
const good = claimOf(validKind, { name: 'good' });

describe('the switch', () => {
  it('given no switch, then populators are not watched, no claim gets an event, and there is one lease', async () => {
    await using it = run({ args: election, seed: [...cluster, bad] });
    await pass(it, 10_000);
    expect([isTaken(it), warned(it), listed(it, 'volumepopulators')]).toEqual([true, [], 0]);
    expect(holders(it)).toEqual(['pod-1', undefined]);
  });

  it('given the switch, then snapshots are taken, claims get events of the validator, and claims are watched once for both', async () => {
    await using alone = run({ args: election, seed: cluster });
    await pass(alone, 10_000);
    const watches = alone.host.server.openWatches();
    await using it = run({ args: [...both, ...election], seed: [...cluster, bad, good, aPopulator()] });
    await pass(it, 10_000);
    expect([isTaken(it), warned(it)]).toEqual([true, ['bad']]);
    expect(holders(it)).toEqual(['pod-1', 'pod-1']);
    // That of populators.
    expect(it.host.server.openWatches()).toBe(watches + 1);
  });

  it('given the switch, then one endpoint shows the families of both, and the start of the process once', async () => {
    const port = await freePort();
    await using it = run({ args: [...both, `--http-endpoint=127.0.0.1:${port}`], seed: [...cluster, bad] });
    await pass(it, 3_000);
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(page).toContain('volume_data_source_validator_operation_count{result="invalid"} 1\n');
    expect(page).toContain('snapshot_controller_operations_in_flight');
    expect(page.match(/^process_start_time_seconds /gm)?.length).toBe(1);
  });

  it('given the rights of the role with the switch and those of both leases, then nothing is refused', async () => {
    const leaseRule = {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      verbs: ['get', 'watch', 'create', 'update'],
    };
    const seed = [...cluster, bad, aPopulator()];
    await using it = run({ args: [...both, ...election], seed, rules: [...clusterRules, leaseRule] });
    await pass(it, 10_000);
    expect([isTaken(it), warned(it)]).toEqual([true, ['bad']]);
    expect(it.host.server.requests.filter(({ code }) => code === 403)).toEqual([]);
  });
});

describe('definitions that are missing', () => {
  it('given no definition of populators, then snapshots are taken at once, and a warning is logged', async () => {
    await using it = run({ missing: 'populators', seed: [...cluster, bad] });
    await pass(it, 3_000);
    expect([isTaken(it), warned(it)]).toEqual([true, []]);
    await pass(it, 40_000, 1_000);
    expect(it.host.logged()).toContain('VolumePopulators could not be listed');
  });

  it('given no definitions of snapshots for minutes, then claims get events, and the process works; when they come, then snapshots are taken', async () => {
    await using it = run({ args: [...both, ...election], missing: 'snapshots', seed: [aClaim(), aVolume(), bad] });
    await pass(it, 3_000);
    expect([warned(it), holders(it)]).toEqual([['bad'], [undefined, 'pod-1']]);
    await pass(it, 120_000, 1_000);
    expect(await Promise.race([it.code, Promise.resolve('works')])).toBe('works');
    expect(it.host.logged()).toContain('Snapshots wait for their definitions');
    it.host.server.addTypes(...snapshotApi);
    for (const object of [aClass(), aSnapshot()]) it.host.server.seed(object);
    await pass(it, 40_000, 1_000);
    expect([isTaken(it), holders(it)]).toEqual([true, ['pod-1', 'pod-1']]);
  });

  it('given no definitions of snapshots and a signal, then the process ends with 0', async () => {
    await using it = run({ missing: 'snapshots' });
    await pass(it, 3_000);
    it.host.stop();
    await pass(it, 2_000);
    expect(await it.code).toBe(0);
  });
});

describe('two leases', () => {
  it.each([
    { lost: 'of the validator', ref: validatorLease, then: ['', 'other'] },
    { lost: 'of snapshots', ref: snapshotLease, then: ['other', ''] },
  ])(
    'given a lease $lost that is lost, then the other one is released, and the exit code is 1',
    async ({ ref, then }) => {
      await using it = run({ args: [...both, ...election] });
      await pass(it, 3_000);
      loses(it, ref);
      await pass(it, 15_000);
      expect([await it.code, holders(it)]).toEqual([1, then]);
    },
  );

  it('given another instance that leads the snapshots, then this one leads the validator', async () => {
    const { host } = run();
    const time = new Date(host.clock.nowMs()).toISOString().replace('Z', '000Z');
    const spec = {
      holderIdentity: 'pod-2',
      leaseDurationSeconds: 600,
      acquireTime: time,
      renewTime: time,
      leaseTransitions: 0,
    };
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: snapshotLease, spec } as KubeObject;
    await using it = run({ args: [...both, ...election], seed: [...cluster, bad, lease] });
    await pass(it, 5_000);
    expect([holders(it), isTaken(it), warned(it)]).toEqual([['pod-2', 'pod-1'], false, ['bad']]);
  });

  it('given a signal, then both leases are released, and the exit code is 0', async () => {
    await using it = run({ args: [...both, ...election] });
    await pass(it, 3_000);
    it.host.stop();
    await pass(it, 2_000);
    expect([await it.code, holders(it)]).toEqual([0, ['', '']]);
  });

  it('given an account without rights on leases, then the log names both leases', async () => {
    await using it = run({ args: [...both, ...election], rules: clusterRules });
    await pass(it, 30_000, 1_000);
    expect(it.host.logged()).toMatch(/snapshot-controller-leader/);
    expect(it.host.logged()).toMatch(/data-source-validator-leader/);
  });
});

it('given hundreds of claims of unknown kinds, then a snapshot is bound as soon as without the validator', async () => {
  const claims = Array.from({ length: 300 }, (_, index) => claimOf(foreignKind, { name: `bad-${index}` }));
  const timeOf = async (args: readonly string[]): Promise<number> => {
    await using it = run({ args, seed: [...cluster.slice(0, 3), ...claims] });
    await pass(it, 5_000);
    it.host.server.seed(aSnapshot());
    const fromMs = it.host.clock.nowMs();
    while (!isTaken(it) && it.host.clock.nowMs() - fromMs < 60_000) await pass(it, 100);
    return it.host.clock.nowMs() - fromMs;
  };
  const [alone, beside] = [await timeOf([]), await timeOf(both)];
  expect(beside - alone).toBeLessThanOrEqual(1_000);
});
