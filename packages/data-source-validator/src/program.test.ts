// SPDX-License-Identifier: Apache-2.0
/** The whole program with an API server in memory and virtual time. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { events, type KubeObject, leases } from '@csi-sidecars/runtime';
import { type AccessRule, freePort, settle } from '@csi-sidecars/runtime/testing';
import { parseFlags, usageText } from '@csi-sidecars/sidecar';
import { type FakeHost, fakeHost } from '@csi-sidecars/sidecar/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aPopulator, claimOf, foreignKind, populatorType, validKind } from '../testing/builders.ts';
import { aValidator } from '../testing/validator-fixture.ts';
import { dataSourceValidatorProgram } from './flags.ts';
import { dataSourceValidatorManifest } from './manifest.ts';
import { runDataSourceValidator } from './program.ts';
import { clusterRules } from './rbac.ts';

interface Options {
  readonly args?: readonly string[];
  readonly seed?: readonly KubeObject[];
  /** Default: everything. */
  readonly rules?: readonly AccessRule[];
  readonly definition?: 'missing';
}

interface Running extends AsyncDisposable {
  readonly host: FakeHost;
  readonly code: Promise<number>;
}

function run({ args = [], seed = [], rules, definition }: Options = {}): Running {
  const host = fakeHost({ args, ...(rules && { rules }) });
  if (definition !== 'missing') host.server.addTypes(populatorType);
  for (const object of seed) host.server.seed(object);
  const code = runDataSourceValidator({ host, lifecycle: host.lifecycle });
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

const election = ['--leader-election', '--leader-election-namespace=ns'];
const leaseRef = { namespace: 'ns', name: 'data-source-validator-leader' };
const holder = ({ host }: Running): string | undefined =>
  host.server.objects.get(leases, leaseRef)?.spec?.holderIdentity ?? undefined;
const warned = ({ host }: Running): readonly (string | undefined)[] =>
  host.server.objects.list(events).flatMap(({ involvedObject: { kind, name } }) => (kind === 'Lease' ? [] : [name]));

describe('the end', () => {
  it.each([
    {
      id: '[data-source-validator#23]',
      args: ['--worker-threads=0'],
      code: 1,
      line: '--worker-threads must be at least 1',
    },
    {
      id: '[data-source-validator#23]',
      args: ['--worker-threads=-1'],
      code: 1,
      line: '--worker-threads must be at least 1',
    },
    {
      id: '[data-source-validator#27]',
      args: ['--http-endpoint=256.0.0.1:1'],
      code: 255,
      line: 'Failed to start HTTP server',
    },
  ])('$id given $args, then one clear line and $code', async ({ args, code, line }) => {
    await using it = run({ args: [...election, ...args] });
    await pass(it, 1_000);
    expect(await it.code).toBe(code);
    expect(it.host.logged()).toContain(line);
  });

  it('[data-source-validator#27] given a port that is taken, then 255, and the lease was not asked for', async () => {
    await using other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    await using it = run({ args: [...election, `--http-endpoint=127.0.0.1:${port}`] });
    expect(await it.code).toBe(255);
    expect(it.host.server.requests.filter(({ resource }) => resource === 'leases')).toEqual([]);
  });

  it.each([
    { args: ['--csi-address=/x'], code: 2, line: 'csi-address' },
    { args: ['--resync-period=1m'], code: 2, line: 'resync-period' },
    { args: ['--feature-gates=NoSuchGate=true'], code: 1, line: 'unrecognized feature gate: NoSuchGate' },
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

  it('given an endpoint and a signal, then the exit code is 0', async () => {
    await using it = run({ args: [`--http-endpoint=127.0.0.1:${await freePort()}`], seed: [claimOf(foreignKind)] });
    await pass(it, 3_000);
    expect([it.host.onSignal(), warned(it)]).toEqual(['drain', ['data']]);
    it.host.stop();
    await pass(it, 1_000);
    expect(await it.code).toBe(0);
  });

  it('given a signal to the leader, then it releases the lease, and the exit code is 0', async () => {
    await using it = run({ args: election });
    await pass(it, 3_000);
    expect(holder(it)).toBe('pod-1');
    it.host.stop();
    await pass(it, 1_000);
    expect([await it.code, holder(it)]).toEqual([0, '']);
  });

  it('given a lease that is lost, then the exit code is 1', async () => {
    await using it = run({ args: election });
    await pass(it, 3_000);
    it.host.server.objects.change(leases, leaseRef, (lease) => ({
      ...lease,
      spec: { ...lease.spec, holderIdentity: 'other', renewTime: new Date(it.host.clock.nowMs()).toISOString() },
    }));
    await pass(it, 15_000);
    expect(await it.code).toBe(1);
  });
});

describe('the account and the instances', () => {
  it("[data-source-validator#24] given an election with upstream's role, which has no lease, then it waits, checks nothing, and its log names the right", async () => {
    await using it = run({ args: election, rules: clusterRules, seed: [claimOf(foreignKind)] });
    await pass(it, 60_000, 1_000);
    expect([await Promise.race([it.code, Promise.resolve('waits')]), warned(it), holder(it)]).toEqual([
      'waits',
      [],
      undefined,
    ]);
    expect(it.host.logged()).toMatch(/leases/);
  });

  it('[data-source-validator#25] given two instances without an election, then each writes its event', async () => {
    const first = await aValidator({ seed: [claimOf(foreignKind)] });
    const { clock, server, driver } = first;
    const second = await aValidator({ cluster: { clock, server, driver, faults: [] }, randomSeed: 3 });
    await first.pass(2_000);
    expect(second.warned()).toEqual(['data x1', 'data x1']);
  });

  it('given the rules of its role and an election, then it works with no other right', async () => {
    const leaseRule = {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      verbs: ['get', 'watch', 'list', 'create', 'update', 'patch'],
    };
    await using it = run({ args: election, rules: [...clusterRules, leaseRule], seed: [claimOf(foreignKind)] });
    await pass(it, 5_000);
    expect(warned(it)).toEqual(['data']);
    expect(it.host.server.requests.filter(({ code }) => code === 403)).toEqual([]);
  });
});

describe('the page of metrics', () => {
  it("given claims of all kinds, then upstream's families, the gauge of unknown sources, and nothing of queues and caches", async () => {
    const port = await freePort();
    const seed = [
      aPopulator(),
      claimOf(validKind, { name: 'a' }),
      claimOf(foreignKind),
      aClaim(undefined, { name: 'b' }),
    ];
    await using it = run({ args: [...election, `--http-endpoint=127.0.0.1:${port}`], seed });
    await pass(it, 3_000);
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(page).toContain(
      '# HELP volume_data_source_validator_operation_count [ALPHA] Number of validations operations by result\n',
    );
    expect(page).toContain('volume_data_source_validator_operation_count{result="populator"} 1\n');
    expect(page).toContain('volume_data_source_validator_operation_count{result="invalid"} 1\n');
    expect(page).toContain('csi_sidecars_claims_with_unknown_source 1\n');
    const families = [...page.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name).toSorted();
    expect(families).toEqual([
      'csi_sidecars_claims_with_unknown_source',
      'process_start_time_seconds',
      'volume_data_source_validator_operation_count',
    ]);
    expect((await fetch(`http://127.0.0.1:${port}/healthz/leader-election`)).status).toBe(200);
  });

  it('[data-source-validator#17] given no definition of populators, then its health is fine', async () => {
    const port = await freePort();
    await using it = run({ args: [...election, `--http-endpoint=127.0.0.1:${port}`], definition: 'missing' });
    await pass(it, 60_000, 1_000);
    expect((await fetch(`http://127.0.0.1:${port}/healthz/leader-election`)).status).toBe(200);
    expect(it.host.logged()).toContain('VolumePopulators could not be listed');
  });
});

describe('the command line', () => {
  it("given no arguments, then the built-in values are upstream's, and the usage names every flag", async () => {
    const { flags, syntax, name } = dataSourceValidatorProgram;
    const parsed = parseFlags(flags, syntax, []);
    expect(parsed).toMatchObject({
      kind: 'parsed',
      values: {
        'worker-threads': 10,
        'leader-election': false,
        'leader-election-lease-duration': 15_000,
        'leader-election-renew-deadline': 10_000,
        'leader-election-retry-period': 5_000,
        'http-endpoint': '',
        'metrics-path': '/metrics',
        'kube-api-qps': 5,
        'kube-api-burst': 10,
      },
    });
    const text = await usageText(name, flags);
    for (const flag of Object.keys(flags)) expect(text).toMatch(new RegExp(`-${flag}\\b`));
  });

  it("given the arguments of upstream's manifest, then they are accepted", () => {
    const { flags, syntax } = dataSourceValidatorProgram;
    const args = ['--v=5', '--leader-election=false', '--http-endpoint=:8080'];
    expect(parseFlags(flags, syntax, args)).toMatchObject({ kind: 'parsed', positionals: [] });
  });

  it('given the manifest, then name and lock are those of upstream', () => {
    const { name, lockName } = dataSourceValidatorManifest;
    expect([name, lockName?.('')]).toEqual(['volume-data-source-validator', 'data-source-validator-leader']);
  });
});
