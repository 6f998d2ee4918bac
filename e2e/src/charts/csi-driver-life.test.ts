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

async function run(
  verb: 'install' | 'upgrade',
  name: string,
  namespace: string,
  more: object = {},
  source = chart,
): Promise<string> {
  const input = JSON.stringify({ ...values, ...more });
  return await helm([verb, name, source, `--namespace=${namespace}`, '--values=-'], { input });
}

async function refused(
  verb: 'install' | 'upgrade',
  name: string,
  namespace: string,
  more: object = {},
): Promise<string> {
  const input = JSON.stringify({ ...values, ...more });
  const { code, stderr } = await tryHelm([verb, name, chart, `--namespace=${namespace}`, '--values=-'], { input });
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
    await run('install', 'my', namespace, {}, previous);
    await run('upgrade', 'my', namespace);
    const before = await argsOf('csi-attacher', namespace);
    await run('upgrade', 'my', namespace, { sidecars: { attacher: { logLevel: 6 } } });
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
    await run('install', 'my', namespace);
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
    const objects = parseObjects(await helm(['template', 'my', chart, ...flags]));
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

  it('[packaging#33] given volumes of the driver, when the release is uninstalled, then they stay, and the notes have said so; a CSIDriver that is kept stays too', async () => {
    const namespace = await createNamespace('privileged');
    const notes = await run('install', 'my', namespace, { csiDriver: { keep: true } });
    expect(notes).toMatch(/uninstall/);
    await apply(volume);
    await helm(['uninstall', 'my', `--namespace=${namespace}`]);
    const kept = await get('persistentvolume', 'volume');
    expect(kept.metadata).not.toHaveProperty('deletionTimestamp');
    expect(await exists('csidriver', driver.name)).toBe(true);
    await run('install', 'my', namespace);
    await helm(['uninstall', 'my', `--namespace=${namespace}`]);
    expect(await exists('csidriver', driver.name)).toBe(false);
    expect(await exists('persistentvolume', 'volume')).toBe(true);
  });

  it('[packaging#32] given a release of a driver, when another one of the same driver is installed, then helm refuses', async () => {
    const namespace = await createNamespace('privileged');
    await run('install', 'my', namespace);
    expect(await refused('install', 'other', namespace)).toMatch(/d\.example\.com|invalid ownership metadata/);
    expect(await list('deployments', `--namespace=${namespace}`)).toHaveLength(1);
  });

  it('[packaging#29] given another binding mode of a class, when the release is upgraded, then the API server refuses it; with a hash in its name it is a new class', async () => {
    const namespace = await createNamespace('privileged');
    await run('install', 'my', namespace);
    const immediate = { name: 'fast', parameters: { tier: 'fast' }, volumeBindingMode: 'Immediate' };
    expect(await refused('upgrade', 'my', namespace, { storageClasses: [immediate] })).toMatch(/immutable|forbidden/i);
    expect(await get('storageclass', 'fast')).toMatchObject({ volumeBindingMode: 'WaitForFirstConsumer' });
    await run('upgrade', 'my', namespace, { storageClasses: [{ ...immediate, nameSuffixFromHash: true }] });
    const [renamed] = await list('storageclasses');
    expect(renamed).toMatchObject({
      metadata: { name: expect.stringMatching(/^fast-[0-9a-f]+$/) },
      volumeBindingMode: 'Immediate',
    });
  });

  it('[packaging#30] given another attachRequired, when the release is upgraded, then rendering fails with what to do', async () => {
    const namespace = await createNamespace('privileged');
    await run('install', 'my', namespace);
    const message = await refused('upgrade', 'my', namespace, {
      csiDriver: { attachRequired: false },
      features: { attach: false },
    });
    expect(message).toMatch(/CSIDriver d\.example\.com/);
    expect(message).toMatch(/delete/);
    expect(await get('csidriver', driver.name)).toMatchObject({ spec: { attachRequired: true } });
  });
});
