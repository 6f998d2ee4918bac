// SPDX-License-Identifier: Apache-2.0
/**
 * The pages of operators, typed to the letter. A node is emulated: pods are ready without running, so that helm and kubectl, which wait
 * for them, come to an end. What the commands of a page take for granted is made before.
 */
import { globSync } from 'node:fs';
import {
  connectCluster,
  createApiClient,
  loadClusterConfig,
  silentLogger,
  systemClock,
  systemFiles,
  systemRandom,
} from '@csi-sidecars/runtime';
import { stubDriver, startNodes } from '@csi-sidecars/sim';
import { afterAll, afterEach, beforeAll, expect, inject, it, vi } from 'vitest';
import { readPage } from '../pages/read-page.ts';
import { runCommand } from '../../../charts/testing/command.ts';
import { tag } from '../../../charts/testing/tag.ts';
import { findProgram, repositoryRoot } from '../processes/program.ts';
import { apply, exists, get, helm, kubectl, list } from './commands.ts';
import { chartFolder } from './chart-copy.ts';
import { kubeconfigOf } from './kubeconfig-of.ts';
import { createNamespace, emptyCluster } from './releases.ts';
import { openPage } from './typed-page.ts';

/** That of the pages' values. */
const driver = 'csi.example.com';
const folder = 'docs/operations';

const cluster = new AsyncDisposableStack();

beforeAll(async () => {
  const deps = { files: systemFiles(), env: process.env, logger: silentLogger };
  const clock = systemClock();
  const config = await loadClusterConfig(deps, { kubeconfig: inject('cluster').kubeconfig });
  const { transport } = cluster.use(await connectCluster({ ...deps, clock }, config));
  const limits = { userAgent: 'csi-sidecars-pages', qps: -1, burst: 0 };
  const client = createApiClient({ transport, clock, logger: silentLogger }, limits);
  const options = { name: 'node-1', drivers: [stubDriver(driver)] };
  cluster.use(startNodes({ client, clock, random: systemRandom(), logger: silentLogger }, [options]));
});

afterEach(async () => {
  await emptyCluster();
  await kubectl(['delete', 'csidriver,storageclass', '--all']);
  await kubectl(['delete', 'clusterrole,clusterrolebinding', '--selector=app.kubernetes.io/instance=deployed']);
  await kubectl(['delete', 'namespace', 'my-driver', 'hostpath', 'deployed', '--ignore-not-found', '--timeout=60s']);
  await kubectl(['delete', 'clusterrole,clusterrolebinding', 'leftovers', '--ignore-not-found']);
});

afterAll(async () => {
  await cluster.disposeAsync();
  await kubectl(['delete', 'node', 'node-1', '--ignore-not-found']);
});

/** The values that the page about an installation shows. */
const values = (): string => readPage(`${folder}/install.md`).find((step) => step.kind === 'file')!.content;

const noImages = '--set=sidecars.image.registry=';

/** By other means than helm: what a chart of others has made. */
async function deployDriver(): Promise<{ readonly namespace: string; readonly deployment: string }> {
  const namespace = 'deployed';
  await kubectl(['create', 'namespace', namespace]);
  const flags = [`--namespace=${namespace}`, '--values=-', noImages];
  const input = await helm(['template', 'deployed', chartFolder('csi-driver'), '--skip-tests', ...flags], {
    input: values(),
  });
  await kubectl(['apply', `--namespace=${namespace}`, '--filename=-'], { input });
  return { namespace, deployment: 'deployed-csi-driver-controller' };
}

/** With upstream's sidecars. */
async function installDriver(namespace: string): Promise<void> {
  await helm(['install', 'my-driver', chartFolder('csi-driver'), `--namespace=${namespace}`, '--values=-', noImages], {
    input: values(),
  });
}

const provisioningFinalizer = `provisioning-protection.provisioner.storage.kubernetes.io/${driver}`;
const volumeFinalizer = 'external-provisioner.volume.kubernetes.io/finalizer';

/** Nothing settles it. */
async function createTerminatingClaim(name: string, namespace: string): Promise<void> {
  const spec = {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'fast',
    resources: { requests: { storage: '1Gi' } },
  };
  const metadata = { name, namespace, finalizers: [provisioningFinalizer] };
  await apply({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec });
  await kubectl(['delete', 'persistentvolumeclaim', name, `--namespace=${namespace}`, '--wait=false']);
}

async function createVolume(name: string): Promise<void> {
  await apply({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, finalizers: [volumeFinalizer], annotations: { 'pv.kubernetes.io/provisioned-by': driver } },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Delete',
      csi: { driver, volumeHandle: 'handle' },
    },
  });
}

async function imagesOf(
  kind: 'deployment' | 'daemonset',
  name: string,
  namespace: string,
): Promise<Record<string, string>> {
  const { spec } = await get(kind, name, namespace);
  const containers = spec.template.spec.containers as readonly { readonly name: string; readonly image: string }[];
  return Object.fromEntries(containers.map(({ name: container, image }) => [container, image]));
}

it('[packaging#66] given README, when its commands are typed, then an example is installed, and a driver that is there gets our image in one container', async () => {
  const { namespace, deployment } = await deployDriver();
  const placeholders = { NAMESPACE: namespace, DEPLOYMENT: deployment, REGISTRY: 'registry.example.com' };
  const page = openPage('README.md', placeholders);
  await page.section('Try it');
  await page.section('Use it');
  const example = await imagesOf('deployment', 'hostpath-csi-driver-controller', 'hostpath');
  expect(example['csi-attacher']).toMatch(/^registry\.k8s\.io\/sig-storage\//);
  expect(await get('storageclass', 'hostpath')).toMatchObject({ provisioner: 'hostpath.csi.k8s.io' });
  const images = await imagesOf('deployment', deployment, namespace);
  expect(images['csi-attacher']).toBe(`registry.example.com/csi-attacher:${tag}`);
  console.info(page.report());
});

it('[packaging#66] given the page about an installation, when it is typed, then the driver is installed with its snapshots, and after the last command nothing of it is left', async () => {
  const page = openPage(`${folder}/install.md`, { REGISTRY: 'registry.example.com' });
  await page.section('Install a CSI driver with the chart');
  await page.section('1. Namespace');
  await page.section('2. Values');
  await page.section('3. Snapshots');
  expect(await exists('deployment', 'snapshot-controller', 'kube-system')).toBe(true);
  const written = await page.section('4. Install');
  expect(written).toMatch(/snapshots=true/);
  expect(written).toMatch(new RegExp(`node-1 +${driver}`));
  const images = await imagesOf('deployment', 'my-driver-csi-driver-controller', 'my-driver');
  expect(images).toMatchObject({
    'csi-driver': 'registry.example.com/driver:v1.2.3',
    'csi-snapshotter': `registry.example.com/csi-sidecars/csi-snapshotter:${tag}`,
  });
  expect(await list('pods', '--namespace=my-driver')).toHaveLength(3);
  await page.section('Uninstall');
  const kinds =
    'deployments,daemonsets,services,roles,rolebindings,clusterroles,clusterrolebindings,storageclasses,csidrivers';
  const left = await list(kinds, '--all-namespaces', '--selector=app.kubernetes.io/instance=my-driver');
  expect(left.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
  console.info(page.report());
});

it('[packaging#66] given a driver with the sidecars of upstream, when the page about one image is typed, then ours is in that container, and at the end the old one', async () => {
  const { namespace, deployment } = await deployDriver();
  const before = await imagesOf('deployment', deployment, namespace);
  const old = before['csi-attacher']!;
  expect(old).toMatch(/^registry\.k8s\.io\/sig-storage\/csi-attacher:/);
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', spec: { holderIdentity: 'new-pod' } };
  await apply({ ...lease, metadata: { name: `external-attacher-leader-${driver}`, namespace } });
  const page = openPage(`${folder}/swap-one-image.md`, {
    NAMESPACE: namespace,
    DEPLOYMENT: deployment,
    'OLD-IMAGE': old,
  });
  expect(await page.section('Before')).toContain(old);
  expect(await page.section('Swap')).toMatch(/successfully rolled out/);
  expect(await imagesOf('deployment', deployment, namespace)).toEqual({
    ...before,
    'csi-attacher': `registry.example.com/csi-attacher:${tag}`,
  });
  expect(await page.section('After')).toMatch(/new-pod/);
  await page.section('Back');
  expect(await imagesOf('deployment', deployment, namespace)).toEqual(before);
  console.info(page.report());
});

it('[packaging#66] given an installed driver, when the page about operation is typed, then the release is upgraded', async () => {
  await kubectl(['create', 'namespace', 'my-driver']);
  await installDriver('my-driver');
  const page = openPage(`${folder}/operate.md`, {}, { 'values.yaml': values() });
  await page.section('Upgrade');
  await page.section('Audit');
  console.info(page.report());
  expect(JSON.parse(await helm(['list', '--namespace=my-driver', '--output=json']))).toMatchObject([{ revision: '2' }]);
});

it('[packaging#66] given what a csi-provisioner has left, when the page about leaving it is typed, then each section removes what it says', async () => {
  const namespace = await createNamespace();
  const claim = (name: string) => exists('persistentvolumeclaim', name, namespace);
  await createTerminatingClaim('first', namespace);
  await createVolume('kept');
  const page = openPage(`${folder}/leaving-csi-provisioner.md`, { DRIVER: driver, NAMESPACE: namespace, NAME: 'kept' });
  expect(await page.section('Run the command')).toMatch(/first .* U3 /);
  await page.section('Permissions');
  const account = await kubeconfigOf(namespace, 'leftovers');
  const { command, args } = findProgram('csi-sidecars', {});
  const flags = [`--kubeconfig=${account}`, `--driver=${driver}`, '--remove', '--include-unsettled', '--yes'];
  // The API server learns of new roles by a watch.
  await vi.waitFor(
    async () =>
      expect(await runCommand(command, [...args, 'leftovers', ...flags])).toMatchObject({ code: 0, stderr: '' }),
    { timeout: 15_000, interval: 500 },
  );
  expect(await claim('first')).toBe(false);
  await createTerminatingClaim('second', namespace);
  await page.section("Go back to upstream's csi-provisioner");
  expect(await claim('second')).toBe(false);
  expect(await page.section('Uninstall a driver for good')).toMatch(/kept .* U12 /);
  expect((await get('persistentvolume', 'kept')).metadata).not.toHaveProperty(
    'finalizers',
    expect.arrayContaining([volumeFinalizer]),
  );
  await createTerminatingClaim('third', namespace);
  await page.section('A claim is stuck while csi-provisioner runs');
  expect(await claim('third')).toBe(false);
  await kubectl(['delete', 'persistentvolume', 'kept']);
  console.info(page.report());
});

const typed = ['install', 'swap-one-image', 'operate', 'leaving-csi-provisioner'].map((name) => `${folder}/${name}.md`);
const others = globSync(`${folder}/*.md`, { cwd: repositoryRoot }).filter((path) => !typed.includes(path));

it.each(others)('[packaging#66] given %s, then nothing that it says to type can run here', async (path) => {
  const page = openPage(path, {});
  expect(readPage(path).filter((step) => step.kind === 'file' || step.notTested === undefined)).toEqual([]);
  for (const section of new Set(readPage(path).map((step) => step.section))) await page.section(section);
  console.info(page.report());
});
