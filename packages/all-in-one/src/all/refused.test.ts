// SPDX-License-Identifier: Apache-2.0
/** Command lines that end the program before it opens anything. */
import { describe, expect, it } from 'vitest';
import { four, refusedCommandLine, runCombined } from '../../testing/run-all.ts';
import { readControllers } from './plan.ts';

describe('--controllers', () => {
  it('[all-in-one#1] given spaces, empty items and a name twice, then each controller is there once', async () => {
    expect(readControllers(' attacher ,,provisioner,attacher')).toEqual(['attacher', 'provisioner']);
    await using program = await runCombined({ args: ['--controllers= attacher ,,provisioner,attacher'] });
    await expect.poll(() => program.host.logged()).toContain('controllers=["attacher","provisioner"]');
    await expect.poll(() => program.host.logged()).toContain('Caches are synced');
    expect(program.host.logged()).not.toMatch(/controller="(resizer|snapshotter)"/);
  });

  it('[all-in-one#2] given a name in upper case, then exit 1, the valid names, and nothing was dialled', async () => {
    const result = await refusedCommandLine(['--controllers=Attacher,zebra,ape']);
    expect([result.code, result.connections]).toEqual([1, 0]);
    expect(result.last).toContain(
      'unknown controllers: Attacher, ape, zebra, valid values are: attacher, health-monitor, livenessprobe, node-driver-registrar, provisioner, resizer, snapshotter',
    );
  });

  it('[common#80] given names with mistakes in them, then the last line ends with the right ones', async () => {
    const { last } = await refusedCommandLine(['--controllers=atacher,zebra,Resize,atacherr']);
    expect(last).toMatch(
      /"unknown controllers: Resize, atacher, atacherr, zebra, .*resizer, snapshotter\. Did you mean resizer, attacher\?"$/,
    );
  });

  it.each([[[]], [['--controllers=']], [['--controllers=,,']]])(
    '[all-in-one#3] given %j, then exit 1: no controllers enabled',
    async (args) => {
      const { code, last } = await refusedCommandLine(args);
      expect(code).toBe(1);
      expect(last).toContain('no controllers enabled, --controllers must list at least one of: attacher, ');
    },
  );

  it('[all-in-one#4] given --version and mistakes, then one line with the version, and exit 0', async () => {
    const { code, printed, logged } = await refusedCommandLine([
      '--version',
      '--controllers=invalid',
      '--http-endpoint=:1',
      '--metrics-address=:2',
    ]);
    expect([code, printed, logged]).toEqual([0, 'csi-sidecars v1.2.3\n', '']);
  });
});

describe('values', () => {
  it.each([
    [['--debug-explain=loopback'], '--debug-explain=loopback needs --http-endpoint'],
    [['--debug-explain=yes', '--http-endpoint=:1'], '--debug-explain must be off, loopback, any'],
    [['--attacher-debug-explain=any'], 'the process has one: use --debug-explain'],
  ])('given %j, then it is refused, and nothing was dialled', async (flags, text) => {
    const { code, logged, connections } = await refusedCommandLine([four, ...flags]);
    expect(code).not.toBe(0);
    expect([logged.includes(text), connections]).toEqual([true, 0]);
  });

  it.each([
    ['--attacher-worker-threads=-1', '--attacher-worker-threads'],
    ['--attacher-worker-threads=0', '--attacher-worker-threads'],
    ['--provisioner-worker-threads=-1', '--provisioner-worker-threads'],
    ['--worker-threads=0', '--worker-threads'],
    ['--workers=-2', '--workers'],
  ])('[all-in-one#10] given %s, then exit 1 with the name of the flag', async (flag, name) => {
    const { code, last, connections } = await refusedCommandLine([four, flag]);
    expect([code, connections]).toEqual([1, 0]);
    expect(last).toContain(`${name} must be at least 1`);
  });

  it.each([
    [['--kube-api-burst=0'], '--kube-api-burst'],
    [['--attacher-kube-api-burst=-1'], '--attacher-kube-api-burst'],
    // The leases have the unprefixed limit, whatever the controllers have.
    [
      [
        '--kube-api-burst=0',
        ...['attacher', 'provisioner', 'resizer', 'snapshotter'].map((name) => `--${name}-kube-api-burst=5`),
      ],
      '--kube-api-burst',
    ],
  ])('given %j, with which no request could be sent, then exit 1 with the name of the flag', async (flags, name) => {
    const { code, last, connections } = await refusedCommandLine([four, ...flags]);
    expect([code, connections]).toEqual([1, 0]);
    expect(last).toContain(`${name} must be at least 1`);
  });

  it('given a flag that does not exist, then exit 2, and the mistake is not buried under the list of all flags', async () => {
    const { code, logged } = await refusedCommandLine([four, '--no-such-flag']);
    expect([code, logged]).toEqual([
      2,
      'unknown flag: --no-such-flag\nFlags: csi-sidecars --help\nunknown flag: --no-such-flag\n',
    ]);
  });

  it('given an unprefixed flag of two controllers, then exit 2', async () => {
    const { code, last } = await refusedCommandLine([four, '--extra-create-metadata']);
    expect(code).toBe(2);
    expect(last).toContain('--provisioner-extra-create-metadata or --snapshotter-extra-create-metadata');
  });

  it.each(['--shutdown-timeout=0', '--shutdown-timeout=-1s'])('given %s, then exit 1', async (flag) => {
    const { code, last } = await refusedCommandLine([four, flag]);
    expect([code, last]).toEqual([1, expect.stringContaining('--shutdown-timeout must be positive')]);
  });

  it('given an unknown reaction to failures, then exit 1', async () => {
    const { code, last } = await refusedCommandLine([four, '--controller-failure=ignore']);
    expect([code, last]).toEqual([1, expect.stringContaining('--controller-failure must be restart or exit')]);
  });

  it('[common#84] given --events with another value than all and outcome, then exit 1 before anything is opened', async () => {
    const { code, last, connections } = await refusedCommandLine(['--controllers=attacher', '--events=Outcome']);
    expect([code, connections]).toEqual([1, 0]);
    expect(last).toContain('--events must be all or outcome, not');
  });

  it('[all-in-one#17] given both addresses, then exit 1 before anything is opened', async () => {
    const { code, last, connections } = await refusedCommandLine([
      four,
      '--http-endpoint=127.0.0.1:1',
      '--metrics-address=127.0.0.1:2',
    ]);
    expect([code, connections]).toEqual([1, 0]);
    expect(last).toContain('mutually exclusive');
  });

  it('[all-in-one#25] given --snapshotter-node-deployment with --leader-election, then exit 1 with both names', async () => {
    const { code, last } = await refusedCommandLine([four, '--snapshotter-node-deployment', '--leader-election']);
    expect(code).toBe(1);
    expect(last).toContain('--snapshotter-node-deployment and --leader-election exclude each other');
  });

  it('given an environment that a controller cannot run in, then the process ends with the code of its program', async () => {
    const { code, last, connections } = await refusedCommandLine([four, '--snapshotter-node-deployment']);
    expect([code, connections]).toEqual([255, 0]);
    expect(last).toContain('NODE_NAME');
  });

  it('given node-driver-registrar without the path for kubelet, then exit 1', async () => {
    const { code, last } = await refusedCommandLine(['--controllers=node-driver-registrar']);
    expect([code, last]).toEqual([1, expect.stringContaining('kubelet-registration-path is a required parameter')]);
  });

  it('[all-in-one#12] given a flag of a controller that is not enabled, then it is checked, and otherwise reported as without effect', async () => {
    const bad = await refusedCommandLine(['--controllers=attacher', '--snapshotter-timeout=abc']);
    expect(bad.code).toBe(2);
    const impossible = await refusedCommandLine(['--controllers=attacher', '--resizer-workers=0']);
    expect([impossible.code, impossible.last]).toEqual([1, expect.stringContaining('--resizer-workers must be')]);
    await using program = await runCombined({ args: ['--controllers=attacher', '--snapshotter-timeout=5s'] });
    await expect.poll(() => program.host.logged()).toContain('Caches are synced');
    const lines = program.host
      .logged()
      .split('\n')
      .filter((line) => line.includes('have no effect'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/controller="snapshotter" flags=\["--snapshotter-timeout"\]/);
  });
});

describe('feature gates', () => {
  it('[all-in-one#14] given a gate of a controller that is not enabled, then it is accepted; given one of none, then exit 1', async () => {
    await using program = await runCombined({
      args: ['--controllers=attacher', '--feature-gates=CSIVolumeGroupSnapshot=false'],
    });
    await expect.poll(() => program.host.logged()).toContain('Caches are synced');
    const { code, last } = await refusedCommandLine([four, '--feature-gates=HonorPVReclaimPolicy=true']);
    expect([code, last]).toEqual([1, expect.stringContaining('HonorPVReclaimPolicy')]);
  });

  it('[all-in-one#13] given gates in two flags, then both hold, and VolumeAttributesClass is off for provisioner and resizer', async () => {
    const handlers = {
      '/csi.v1.Controller/ControllerGetCapabilities': () =>
        ({
          capabilities: ['CREATE_DELETE_VOLUME', 'EXPAND_VOLUME', 'MODIFY_VOLUME'].map((type) => ({ rpc: { type } })),
        }) as never,
    };
    await using program = await runCombined({
      handlers,
      args: [
        '--controllers=provisioner,resizer',
        '--feature-gates=Topology=true',
        '--feature-gates=VolumeAttributesClass=false',
      ],
    });
    const { server } = program.host;
    const watched = () => server.requests.filter(({ verb }) => verb === 'watch').map(({ resource }) => resource);
    await expect
      .poll(() => watched().toSorted())
      .toEqual(['persistentvolumeclaims', 'persistentvolumes', 'pods', 'storageclasses']);
    // Neither program asks whether the cluster has these classes.
    expect(
      server.requests.filter(
        ({ path }) => path.startsWith('/apis/storage.k8s.io/v1?') || path === '/apis/storage.k8s.io/v1',
      ),
    ).toEqual([]);
    expect(program.host.logged()).toContain('featureGate="Topology" value=true');
  });
});
