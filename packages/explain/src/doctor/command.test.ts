// SPDX-License-Identifier: Apache-2.0
/** The command line of doctor, its exit codes, its outputs, and what it asks of the API server. */
import { ApiError, type KubeObject, type Transport, TransportError } from '@csi-sidecars/runtime';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { describe, expect, it } from 'vitest';
import {
  add,
  ago,
  csiDriver,
  driver,
  lease,
  pod,
  requestsOf,
  runCommand,
  storageClass,
} from '../../testing/cluster.ts';
import { controller, driverContainer, nodeSet, programs, sidecar } from '../../testing/workloads.ts';
import { crd, installation, leaseOf, namedDriver, snapshotClass } from '../../testing/installation.ts';
import { doctor, reviewing } from '../../testing/examining.ts';
import { allChecks } from './checks/all.ts';
import { runDoctor } from './command.ts';

const run = (host: FakeHost, args: readonly string[] = [], columns?: number): Promise<number> =>
  runCommand(runDoctor, { host, args, columns });

const dead = (host: FakeHost): FakeHost => {
  add(host, leaseOf(host, 'csi-resizer', 600));
  return host;
};
const restless = (host: FakeHost): FakeHost => {
  const made = leaseOf(host, 'csi-resizer') as KubeObject & { readonly spec: object };
  const spec = { ...made.spec, leaseTransitions: 40, acquireTime: ago(host, 120) };
  add(host, { ...made, metadata: { ...made.metadata, creationTimestamp: ago(host, 7_200) }, spec });
  return host;
};

describe('exit codes', () => {
  it('[explain#89] given a healthy installation, when examined, then the exit code is 0, every check has run, and nothing is found', async () => {
    const { code, document, host } = await doctor(installation());
    expect([code, document.findings, document.notRun, host.logged()]).toEqual([0, [], [], '']);
    expect(document).toMatchObject({
      kind: 'Diagnosis',
      exitCode: 0,
      drivers: [{ name: driver, hasCSIDriver: true, errors: 0, warnings: 0, infos: 0 }],
    });
  });

  it('given a warning, an error, or an information at most, when examined, then the exit code is 3, 4 or 0', async () => {
    const informed = installation();
    add(informed, leaseOf(informed, 'csi-resizer', -6));
    expect((await doctor(restless(installation()))).code).toBe(3);
    expect((await doctor(dead(installation()))).code).toBe(4);
    expect((await doctor(informed)).found).toEqual(['info clock-1']);
    expect((await doctor(informed)).code).toBe(0);
  });

  const some = [{ apiGroups: ['', 'storage.k8s.io', 'apps', 'coordination.k8s.io'], resources: ['*'], verbs: ['*'] }];

  it('given rights that are missing, when examined, then 5; and 4 with an error beside them', async () => {
    const { code, document } = await doctor(installation({ rules: some }));
    expect(code).toBe(5);
    expect(document.notRun.map(({ id }) => id)).toContain('crd-2');
    expect((await doctor(dead(installation({ rules: some })))).code).toBe(4);
  });

  it('given no right at all, when examined, then every check says what it lacks, and nothing is concluded', async () => {
    const { code, document } = await doctor(installation({ rules: [] }));
    expect([code, document.findings]).toEqual([5, []]);
    expect(document.notRun.map(({ id }) => id)).toEqual(allChecks.map(({ id }) => id));
    expect(document.notRun.every(({ missing }) => missing.length > 0)).toBe(true);
  });

  it.each([[restless], [dead]])(
    'given --exit-zero, when something is found, then the exit code is 0',
    async (change) => {
      expect((await doctor(change(installation()), ['--exit-zero'])).code).toBe(0);
    },
  );

  it('given a driver that does not exist, when examined, then 6, and the nearest one is named', async () => {
    const host = installation();
    expect(await run(host, ['--driver=a.example.cmo'])).toBe(6);
    expect(host.logged()).toBe(`error: there is no driver a.example.cmo; there is ${driver}\n`);
    const { code, document } = await doctor(installation(), ['--driver=a.example.cmo']);
    expect([code, document]).toEqual([6, expect.objectContaining({ kind: 'Diagnosis', exitCode: 6 })]);
  });

  it('given a driver that only a class names, when examined, then it is examined', async () => {
    const host = installation();
    add(host, storageClass('other', { provisioner: 'a.example.cmo', volumeBindingMode: 'WaitForFirstConsumer' }));
    expect((await doctor(host, ['--driver=a.example.cmo'])).found).toEqual(['error driver-1']);
  });

  it('given an API server that refuses connections, or the credentials, when examined, then 1', async () => {
    const refusing = (): Transport => () => Promise.reject(new TransportError('refused', 'connect ECONNREFUSED'));
    const host = installation({ intercept: refusing });
    expect(await run(host)).toBe(1);
    expect(host.logged()).toBe('error: the API server cannot be reached\n');
    const expired = (): Transport => () =>
      Promise.reject(new ApiError({ status: 401, reason: 'Unauthorized', message: 'Unauthorized' }));
    const refused = installation({ intercept: expired });
    expect(await run(refused)).toBe(1);
    expect(refused.logged()).toContain('credentials');
  });

  it('given an API server that falls silent, when examined, then it ends at --timeout with what is known', async () => {
    const silent =
      (transport: Transport): Transport =>
      (request) =>
        request.path.includes('/leases')
          ? new Promise((_, reject) => {
              const onAbort = (): void => reject(new TransportError('timeout', 'no answer'));
              request.signal.addEventListener('abort', onAbort, { once: true });
            })
          : transport(request);
    const host = installation({ intercept: silent });
    const startedMs = host.clock.monotonicMs();
    const { code, document } = await doctor(host, ['--timeout=20s']);
    expect(code).toBe(5);
    expect(host.clock.monotonicMs() - startedMs).toBeLessThanOrEqual(22_000);
    expect(document.notRun.find(({ id }) => id === 'lease-1')?.missing[0]).toMatchObject({ because: 'timeout' });
  });

  it.each([
    [['-o', 'xml']],
    [['--only=nope-1']],
    [['--skip=nope']],
    [['--driver=-']],
    [['--namespace=a.b']],
    [['--node=a b']],
    [['extra']],
    [['--unknown']],
    [['--accept=/nowhere']],
  ])('given the arguments %j, when run, then 2, and nothing is asked', async (args) => {
    const host = installation();
    expect(await run(host, args)).toBe(2);
    expect([host.printed(), requestsOf(host)]).toEqual(['', []]);
    expect(host.logged()).not.toBe('');
  });
});

describe('what is examined', () => {
  const many = (): FakeHost => {
    const host = installation();
    for (let index = 1; index <= 11; index += 1) {
      const [name, namespace] = [`d${index}.example.org`, `ns-${index}`];
      add(host, namedDriver({ attachRequired: false }, name), nodeSet({ name: `set-${index}`, of: name, namespace }));
      add(
        host,
        controller({ name: 'controller', namespace, containers: [sidecar('csi-provisioner', [`--x=${name}`])] }),
      );
      add(host, {
        ...lease(`d${index}-example-org`, { holder: 'controller-x', renewed: ago(host, 3) }),
        metadata: { name: `d${index}-example-org`, namespace },
      });
      add(host, pod('controller-x', { metadata: { namespace } }));
    }
    return host;
  };

  it('[explain#108] given 12 drivers and --driver, when examined, then only its namespaces and Leases are read, and the checks of the cluster are run once', async () => {
    const host = many();
    const { document } = await doctor(host, ['--driver=d7.example.org']);
    expect(document.drivers.map(({ name }) => name)).toEqual(['d7.example.org']);
    const asked = requestsOf(host).map((request) => decodeURIComponent(request));
    const others = asked.filter((request) => /\/namespaces\/(?!ns-7\/|storage\/)/.test(request));
    expect(others).toEqual([]);
    const named = asked
      .filter((request) => request.includes('/leases?'))
      .map((request) => /metadata\.name=([\w-]+)/.exec(request)?.[1]);
    expect(new Set(named)).toEqual(
      new Set([
        'd7-example-org',
        'data-source-validator-leader',
        'external-health-monitor-leader-d7-example-org',
        'external-attacher-leader-d7-example-org',
        'external-resizer-d7-example-org',
        'external-snapshotter-leader-d7-example-org',
        'snapshot-controller-leader',
      ]),
    );
    expect(document.findings.every((finding) => finding.driver === null || finding.driver === 'd7.example.org')).toBe(
      true,
    );
    expect(asked.filter((request) => request.includes('/customresourcedefinitions/'))).toHaveLength(7);
    expect(document.cost.requests).toBeLessThanOrEqual(300);
  });

  it('given 12 drivers, when examined, then there are no more than 600 requests', async () => {
    const { document } = await doctor(many());
    expect(document.drivers).toHaveLength(12);
    expect(document.cost.requests).toBeLessThanOrEqual(600);
  });

  it('given --only and --skip, when examined, then only these checks read something', async () => {
    const host = installation();
    await doctor(host, ['--only=topo', '--skip=topo-2,topo-4']);
    expect(new Set(host.server.requests.map(({ resource }) => resource))).toEqual(
      new Set(['csidrivers', 'csinodes', 'nodes', '']),
    );
  });

  it('given a driver that was made five minutes ago, or a DaemonSet that is rolled out, when examined, then severities are lowered by one', async () => {
    const young = dead(installation());
    add(young, csiDriver(driver, {}), {
      ...namedDriver(),
      metadata: { name: driver, creationTimestamp: ago(young, 300) },
    });
    expect((await doctor(young)).found).toEqual(['warn lease-1']);
    const rolling = dead(installation());
    add(rolling, nodeSet({ status: { desiredNumberScheduled: 2, numberReady: 2, updatedNumberScheduled: 1 } }));
    expect((await doctor(rolling)).found).toEqual(['warn lease-1']);
  });

  it('given any state, when examined, then nothing is sent that could change an object', async () => {
    const host = dead(installation({ intercept: reviewing(() => false) }));
    await doctor(host);
    expect(new Set(host.server.requests.map(({ verb }) => verb))).toEqual(new Set(['get', 'list']));
  });
});

describe('--accept', () => {
  const withFile = (host: FakeHost, text: string): FakeHost => {
    host.files.write('/accepted', text);
    return host;
  };

  it('[explain#109] given lease-4 and an id that no check has, when examined, then lease-4 does not count, and the other one is a warning', async () => {
    const host = withFile(restless(installation()), '# known\nlease-4  # since May\n\nnope-1\n');
    const { code, found, document } = await doctor(host, ['--accept=/accepted']);
    expect([code, found, document.accepted.map(({ id }) => id)]).toEqual([0, [], ['lease-4']]);
    expect(document.warnings).toEqual(['the file of --accept names nope-1, which is no check']);
    expect(host.logged()).toContain('warning: the file of --accept names nope-1');
  });

  it('given one of two objects, when examined, then the other one is still found', async () => {
    const host = withFile(installation(), 'class-5 StorageClass now\n');
    add(
      host,
      storageClass('now', { volumeBindingMode: 'Immediate' }),
      storageClass('soon', { volumeBindingMode: 'Immediate' }),
    );
    add(host, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'node-b', labels: { 'topology.kubernetes.io/zone': 'z2' } },
    });
    const { document } = await doctor(host, ['--only=class-5', '--accept=/accepted']);
    expect(document.findings.map(({ objects }) => objects.map(({ name }) => name))).toEqual([['soon']]);
    expect(document.accepted.map(({ objects }) => objects.map(({ name }) => name))).toEqual([['now']]);
  });
});

describe('text', () => {
  it('given findings, when printed, then errors come first, with what was seen, a command and what mends it; all in ASCII of 80 columns', async () => {
    const host = restless(installation());
    add(
      host,
      leaseOf(host, 'csi-attacher', 600),
      crd('volumesnapshots', { status: { storedVersions: ['v1\u202Ealpha'] } }),
    );
    expect(await run(host)).toBe(4);
    const lines = host.printed().split('\n');
    expect(lines[0]).toBe(`${driver}  1 error, 1 warn, 0 not run`);
    expect(lines[1]).toBe('cluster  1 error, 0 warn, 0 not run');
    const severities = lines.map((line) => /^(error|warn|info) /.exec(line)?.[1]).filter((word) => word !== undefined);
    expect(severities).toEqual(['error', 'error', 'warn']);
    expect(host.printed()).toContain(`error  lease-1   nobody leads csi-attacher of ${driver}`);
    expect(host.printed()).toMatch(/^ {7}seen: {2}/m);
    expect(host.printed()).toMatch(/^ {7}look: {2}kubectl /m);
    expect(host.printed()).toMatch(/^ {7}mend: {2}/m);
    expect(host.printed()).toMatch(/^[ -~\n]*$/);
    expect(lines.filter((line) => line.length > 80 && !line.startsWith('       look:'))).toEqual([]);
  });

  it('given a terminal, when printed, then errors are red; with NO_COLOR they are not', async () => {
    const red = '\u001B[31merror';
    const coloured = dead(installation());
    await run(coloured, [], 100);
    expect(coloured.printed()).toContain(red);
    const plain = dead(installation({ env: { NO_COLOR: '1' } }));
    await run(plain, [], 100);
    expect(plain.printed()).not.toContain(red);
  });

  it('given what one cause explains, when printed, then it stands below its cause', async () => {
    const host = installation();
    add(host, namedDriver({ storageCapacity: true }));
    await run(host);
    expect(host.printed()).toMatch(/error {2}driver-4 [\s\S]*\n {7}so: {4}cap-1 no CSIStorageCapacity/);
    expect(host.printed()).not.toMatch(/^error {2}cap-1/m);
  });

  it('given rights that are missing, when printed, then each is named once with the checks that lack it', async () => {
    const rules = [
      { apiGroups: ['storage.k8s.io'], resources: ['csidrivers', 'csinodes', 'storageclasses'], verbs: ['*'] },
    ];
    const host = installation({ rules });
    await run(host, ['--only=topo']);
    expect(host.printed()).toContain('not run  topo-1, topo-2: list nodes (forbidden)');
  });

  it('given --list, when run, then every check is printed with its severity and rights, and nothing is asked', async () => {
    const host = installation();
    expect(await run(host, ['--list'])).toBe(0);
    for (const { id, severity } of allChecks) expect(host.printed()).toMatch(new RegExp(`^${id} +${severity} `, 'm'));
    expect(host.printed()).toContain('reads: list csinodes.storage.k8s.io, list nodes');
    expect(requestsOf(host)).toEqual([]);
  });

  it('given -o yaml, when printed, then it is the document', async () => {
    const host = dead(installation());
    expect(await run(host, ['-o', 'yaml'])).toBe(4);
    expect(host.printed()).toMatch(/^kind: Diagnosis$/m);
  });
});

it('given texts of a megabyte, control characters and odd fields, when examined, then the command ends, and the document is small', async () => {
  const host = installation();
  const odd = `x\u001B[2J${'y'.repeat(1_000_000)}`;
  add(host, snapshotClass('snap', { driver, parameters: { [`csi.storage.k8s.io/${odd}`]: odd } }));
  const containers = [driverContainer, ...programs.map((program) => sidecar(program, [odd]))];
  add(host, controller({ containers }));
  add(host, { ...leaseOf(host, 'csi-resizer'), spec: { holderIdentity: odd, renewTime: 'yesterday' } });
  await doctor(host);
  expect(host.printed().length).toBeLessThan(200_000);
  expect(host.printed()).not.toContain('\u001B');
});

it('given an object that a check has not thought of, when examined, then that check is not run, and the others are', async () => {
  const host = installation();
  const made = leaseOf(host, 'csi-resizer', 600);
  add(host, made, { ...storageClass('odd'), provisioner: driver, allowedTopologies: [null] });
  const { found, document } = await doctor(host, ['--only=topo,lease-1']);
  expect([found, document.notRun.map(({ id }) => id)]).toEqual([['error lease-1'], ['topo-2']]);
});
