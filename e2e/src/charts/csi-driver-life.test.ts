// SPDX-License-Identifier: Apache-2.0
/** A release of the chart csi-driver on a real API server, from its installation to the next one. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type ApiObject,
  apply,
  exists,
  get,
  helm,
  kubectl,
  list,
  parseObjects,
  tryHelm,
  tryKubectl,
} from './commands.ts';
import { valuesFiles } from '../../../charts/testing/matrix.ts';
import { chartFolder, copyChart } from './chart-copy.ts';
import { installOthersKinds } from './others-kinds.ts';
import { createNamespace, emptyCluster, untilEstablished } from './releases.ts';

const chart = chartFolder('csi-driver');

afterEach(async () => {
  await kubectl(['delete', 'csidriver,storageclass,persistentvolume', '--all']);
  await emptyCluster();
});

const driver = {
  name: 'd.example.com',
  image: { repository: 'registry.example.com/driver', tag: 'v1.0.0' },
  controller: { args: ['--endpoint=$(CSI_ENDPOINT)'] },
  node: { args: ['--endpoint=$(CSI_ENDPOINT)'] },
};
const values = { driver, storageClasses: [{ name: 'fast', parameters: { tier: 'fast' } }] };

interface Step {
  readonly verb?: 'install' | 'upgrade';
  readonly release?: string;
  readonly chart?: string;
  /** Beside those that each release has. */
  readonly more?: object;
}

function attempt(namespace: string, step: Step): ReturnType<typeof tryHelm> {
  const { verb = 'install', release = 'my', more = {} } = step;
  const input = JSON.stringify({ ...values, ...more });
  return tryHelm([verb, release, step.chart ?? chart, `--namespace=${namespace}`, '--values=-'], { input });
}

/** Returns the notes. */
async function run(namespace: string, step: Step = {}): Promise<string> {
  const { code, stdout, stderr } = await attempt(namespace, step);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

async function refused(namespace: string, step: Step): Promise<string> {
  const { code, stderr } = await attempt(namespace, step);
  expect(code).not.toBe(0);
  return stderr;
}

const argsOf = async (container: string, namespace: string): Promise<readonly string[]> => {
  const [controller] = await list('deployments', `--namespace=${namespace}`);
  const containers = controller!['spec'].template.spec.containers as { name: string; args: string[] }[];
  return containers.find(({ name }) => name === container)!.args;
};

const volume: ApiObject = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'volume' },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Delete',
    storageClassName: 'fast',
    csi: { driver: driver.name, volumeHandle: 'handle' },
  },
};

describe.skipIf(!existsSync(join(chart, 'Chart.yaml')))('a release of a driver', () => {
  it('given an empty cluster, when the chart is installed, upgraded from an older release, changed, rolled back, uninstalled and installed again, then each step does what it says', async () => {
    const namespace = await createNamespace('privileged');
    const previous = copyChart('csi-driver', { version: '0.0.1' });
    await run(namespace, { chart: previous });
    await run(namespace, { verb: 'upgrade' });
    const before = await argsOf('csi-attacher', namespace);
    await run(namespace, { verb: 'upgrade', more: { sidecars: { attacher: { logLevel: 6 } } } });
    expect(await argsOf('csi-attacher', namespace)).toContain('--v=6');
    await helm(['rollback', 'my', '2', `--namespace=${namespace}`]);
    expect(await argsOf('csi-attacher', namespace)).toEqual(before);
    await helm(['uninstall', 'my', `--namespace=${namespace}`]);
    expect(await exists('csidriver', driver.name)).toBe(false);
    expect(
      await list(
        'deployments,daemonsets,services,roles,rolebindings,serviceaccounts',
        `--namespace=${namespace}`,
        '--selector=app.kubernetes.io/managed-by=Helm',
      ),
    ).toEqual([]);
    await run(namespace);
    expect(await exists('csidriver', driver.name)).toBe(true);
  });

  it('given everything that the chart can render, when the API server checks it without storing it, then each object is accepted', async () => {
    const namespace = await createNamespace('privileged');
    await installOthersKinds();
    const full = join(chart, 'ci', 'full.yaml');
    await helm([
      'install',
      'snapshot-crds',
      chartFolder('snapshot-controller'),
      `--namespace=${namespace}`,
      '--set=controller.enabled=false',
    ]);
    await untilEstablished();
    // The file names the APIs that it is rendered for.
    const served = /^# api-versions: (.*)$/m.exec(readFileSync(full, 'utf8'))?.[1]?.split(' ') ?? [];
    const flags = [`--namespace=${namespace}`, `--values=${full}`, ...served.map((api) => `--api-versions=${api}`)];
    // The API server refuses a pod whose account does not exist: pod-security.test.ts has the one of the test.
    const objects = parseObjects(await helm(['template', 'my', chart, '--skip-tests', ...flags]));
    expect(new Set(objects.map(({ kind }) => kind)).size).toBeGreaterThan(16);
    for (const other of new Set(objects.map(({ metadata }) => metadata.namespace ?? namespace))) {
      if (other !== namespace) await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: other } });
    }
    // An object of a kind that no API server here has is the one exception.
    const known = objects.filter(({ kind }) => kind !== 'SnapshotMetadataService');
    expect(known).toHaveLength(objects.length - 1);
    const input = known.map((object) => JSON.stringify(object)).join('\n---\n');
    const checked = await tryKubectl(['apply', '--server-side', '--dry-run=server', '--filename=-'], { input });
    expect(checked).toMatchObject({ code: 0 });
    expect(checked.stdout.trim().split('\n')).toHaveLength(known.length);
  });

  it.each(valuesFiles('csi-driver').filter(({ isExample }) => isExample))(
    '[packaging#62] given the example $name, when it is installed, then the API server takes every object without a warning, and server-side apply finds nothing twice',
    async ({ path, apiVersions }) => {
      const namespace = await createNamespace('privileged');
      const values = [`--namespace=${namespace}`, `--values=${path}`];
      expect(await tryHelm(['install', 'my', chart, ...values])).toMatchObject({ code: 0, stderr: '' });
      expect(await list('deployments,daemonsets', `--namespace=${namespace}`)).not.toEqual([]);
      const apis = apiVersions.map((api) => `--api-versions=${api}`);
      const rendered = await helm(['template', 'other', chart, '--skip-tests', ...values, ...apis]);
      const checked = await tryKubectl(['apply', '--server-side', '--dry-run=server', '--force-conflicts', '-f', '-'], {
        input: rendered,
      });
      expect(checked).toMatchObject({ code: 0, stderr: '' });
      await helm(['uninstall', 'my', `--namespace=${namespace}`]);
      expect(await list('deployments,daemonsets,roles', `--namespace=${namespace}`)).toEqual([]);
    },
  );

  it('[packaging#61] given HostProcess pods and pods with pipes of csi-proxy, when they are applied, then the API server takes them', async () => {
    const namespace = await createNamespace('privileged');
    for (const windows of [{ hostProcess: true }, { hostProcess: false, csiProxy: ['disk-v1', 'filesystem-v1'] }]) {
      const input = JSON.stringify({ ...values, node: { windows: { enabled: true, ...windows } } });
      const rendered = await helm(['template', 'my', chart, '--skip-tests', `--namespace=${namespace}`, '--values=-'], {
        input,
      });
      const checked = await tryKubectl(['apply', '--server-side', '--dry-run=server', '-f', '-'], { input: rendered });
      expect(checked).toMatchObject({ code: 0, stderr: '' });
      expect(checked.stdout).toContain('csi-driver-node-windows serverside-applied');
    }
  });

  it('[packaging#33] given volumes of the driver, when the release is uninstalled, then they stay, and the notes have said so; a CSIDriver that is kept stays too', async () => {
    const namespace = await createNamespace('privileged');
    const notes = await run(namespace, { more: { csiDriver: { keep: true } } });
    expect(notes).toMatch(/uninstall/);
    await apply(volume);
    await helm(['uninstall', 'my', `--namespace=${namespace}`]);
    const kept = await get('persistentvolume', 'volume');
    expect(kept.metadata).not.toHaveProperty('deletionTimestamp');
    expect(await exists('csidriver', driver.name)).toBe(true);
    await run(namespace);
    await helm(['uninstall', 'my', `--namespace=${namespace}`]);
    expect(await exists('csidriver', driver.name)).toBe(false);
    expect(await exists('persistentvolume', 'volume')).toBe(true);
  });

  it('I-13: given two drivers in one namespace, one of them in the network of its nodes, when both are installed, then no name and no port of a node is taken twice', async () => {
    const namespace = await createNamespace('privileged');
    await run(namespace);
    const other = { ...driver, name: 'other.example.com' };
    await run(namespace, {
      release: 'other',
      more: { driver: other, storageClasses: [], node: { hostNetwork: true } },
    });
    const workloads = await list('deployments,daemonsets', `--namespace=${namespace}`);
    expect(workloads).toHaveLength(4);
    const onHost = workloads.filter(({ spec }) => spec.template.spec.hostNetwork === true);
    expect(onHost).toHaveLength(1);
    const both = await refused(namespace, {
      release: 'third',
      more: {
        driver: { ...driver, name: 'third.example.com' },
        controller: { hostNetwork: true },
        node: { hostNetwork: true },
      },
    });
    expect(both).toMatch(/the port \d+ is used twice/);
    const ports = onHost.flatMap(({ spec }) =>
      (spec.template.spec.containers as readonly { ports?: readonly { containerPort: number }[] }[]).flatMap(
        (container) => (container.ports ?? []).map(({ containerPort }) => containerPort),
      ),
    );
    expect(ports.length).toBeGreaterThan(0);
    expect(ports.filter((port, at) => ports.indexOf(port) !== at)).toEqual([]);
  });

  it('[packaging#32] given a release of a driver, when another one of the same driver is installed, then helm refuses', async () => {
    const namespace = await createNamespace('privileged');
    await run(namespace);
    expect(await refused(namespace, { release: 'other' })).toMatch(/d\.example\.com|invalid ownership metadata/);
    expect(await list('deployments', `--namespace=${namespace}`)).toHaveLength(1);
  });

  it('[packaging#29] given another binding mode of a class, when the release is upgraded, then the API server refuses it; with a hash in its name it is a new class', async () => {
    const namespace = await createNamespace('privileged');
    await run(namespace);
    const immediate = { name: 'fast', parameters: { tier: 'fast' }, volumeBindingMode: 'Immediate' };
    expect(await refused(namespace, { verb: 'upgrade', more: { storageClasses: [immediate] } })).toMatch(
      /immutable|forbidden/i,
    );
    expect(await get('storageclass', 'fast')).toMatchObject({ volumeBindingMode: 'WaitForFirstConsumer' });
    await run(namespace, { verb: 'upgrade', more: { storageClasses: [{ ...immediate, nameSuffixFromHash: true }] } });
    const [renamed] = await list('storageclasses');
    expect(renamed).toMatchObject({
      metadata: { name: expect.stringMatching(/^fast-[0-9a-f]+$/) },
      volumeBindingMode: 'Immediate',
    });
  });

  it('[packaging#30] given another attachRequired, when the release is upgraded, then rendering fails with what to do', async () => {
    const namespace = await createNamespace('privileged');
    await run(namespace);
    const message = await refused(namespace, {
      verb: 'upgrade',
      more: { csiDriver: { attachRequired: false }, features: { attach: false } },
    });
    expect(message).toMatch(/CSIDriver d\.example\.com/);
    expect(message).toMatch(/delete/);
    expect(await get('csidriver', driver.name)).toMatchObject({ spec: { attachRequired: true } });
  });
});
