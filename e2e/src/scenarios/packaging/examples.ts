// SPDX-License-Identifier: Apache-2.0
/**
 * I-17, I-18: two examples of chart csi-driver with the test driver in the driver's place, from their installation by helm until nothing is left
 * of them. The two differ most: one has secrets, keys in memory, the host's network and a controller of its own beside the sidecars, the other
 * capacity, pod info, probes and hooks.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { csiStorageCapacities, secrets, type Resource } from '@csi-sidecars/runtime';
import { testDriverCommand } from '@csi-sidecars/test-driver';
import { volumeSnapshotClasses } from '@csi-sidecars/volume';
import { chartsFolder } from '../../../../charts/testing/helm.ts';
import type { RealNode } from '../../control-planes/control-plane.ts';
import { loopDevicesOver } from '../../control-planes/node/loop-devices.ts';
import { freePorts } from '../../control-planes/local/free-ports.ts';
import { helmIn, podsOf, untilPodsGone, type Component } from '../../deployment/chart-objects.ts';
import { isRegistered, nodeOf, registrationFolder, untilRegistered } from '../../deployment/deploy.ts';
import { examplePath, readExample, standInValues, type Example } from '../../deployment/stand-in.ts';
import { snapshotControllerValues } from '../../deployment/values.ts';
import { callsOf, createCalls } from '../../driver/calls.ts';
import type { DriverDoor } from '../../driver/driver.ts';
import { leaseNameOf } from '../../rbac/profiles.ts';
import { claimed } from '../../workload/user-pods.ts';
import { allObjects } from '../cluster-objects.ts';
import type { ScenarioContext } from '../context.ts';
import { fileSystem, reportsFreeSpace, untilSpace } from '../node/growth.ts';
import { reads, startUser, untilSaid, writes } from '../node/user-steps.ts';
import { endPod, isReady } from '../pod-life.ts';
import { ownRefusals } from '../own-requests.ts';
import { createClaim, deleteClaim, untilBound, untilVolumeGone } from '../provisioner/steps.ts';
import { ask, gib, untilSize } from '../resizer/steps.ts';
import type { Scenario } from '../scenario.ts';
import { combinedSubjects } from '../sidecars.ts';
import { removeUpstreamRole } from './releases.ts';
import {
  createSnapshot,
  createSnapshotClass,
  deleteSnapshot,
  fromSnapshot,
  installDefinitions,
  untilNoSnapshots,
  untilReady,
} from '../snapshots/steps.ts';

interface Installation {
  readonly example: string;
  /** What the header of the example wants to be there before it. */
  readonly before?: (ctx: ScenarioContext) => Promise<void>;
  /** Its nodes are in the pod network, so its ports may be those of the controller's pod. */
  readonly needsPorts?: true;
  /** What its values ask for and only the driver can see. */
  readonly reaches: (ctx: ScenarioContext, driver: DriverDoor) => Promise<void>;
}

const file = '/data/file';
const secret = { userID: 'user', userKey: 'key' };
/** The release of the driver is removed first. */
const releases = { driver: 'storage', snapshots: 'snapshot-controller' } as const;
const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
const components: readonly Component[] = ['node', 'controller', 'snapshot-controller'];
const inTitle =
  'with the test driver in its place: a claim is bound, a pod writes, the claim grows, a snapshot is restored, helm uninstalls, nothing is left';

export const examples: readonly Scenario[] = [
  {
    id: 'I-17',
    title: `the example ceph-csi-rbd ${inTitle}`,
    needs: ['kubelet', 'scheduler', 'driver-journal'],
    exclusive: ['api-server'],
    driverName: readExample('ceph-csi-rbd').driver.name,
    run: (ctx) => live(ctx, { example: 'ceph-csi-rbd', before: createForCeph, reaches: secretsReach }),
  },
  {
    id: 'I-18',
    title: `the example longhorn ${inTitle}`,
    needs: ['kubelet', 'scheduler', 'driver-journal'],
    exclusive: ['api-server'],
    // helm takes rights and class away before the programs have ended, and csi-provisioner then wants to delete the capacity of that class.
    refusals: true,
    driverName: readExample('longhorn').driver.name,
    run: (ctx) => live(ctx, { example: 'longhorn', needsPorts: true, reaches: podsAndCapacityReach }),
  },
];

async function live(ctx: ScenarioContext, installation: Installation): Promise<void> {
  const node = nodeOf(ctx);
  const example = readExample(installation.example);
  await installDefinitions(ctx);
  await removeUpstreamRole(ctx);
  await installation.before?.(ctx);
  keepFolders(ctx, example);
  const objects = await objectsBefore(ctx);
  const mounts = new Set(node.mounts());

  const { driver, state } = await install(ctx, installation, example);
  const className = example.storageClasses[0]!.name;
  await createClaim(ctx, className);
  await startUser(ctx, { name: 'writer', volume: claimed('claim'), script: [...writes(file), ...reportsFreeSpace] });
  const written = await untilSaid(ctx, 'writer', 'sum');
  await installation.reaches(ctx, driver);

  await ask(ctx, '2Gi');
  await untilSize(ctx, '2Gi');
  await untilSpace(ctx, 2n * gib);

  const volumeSnapshotClassName = await createSnapshotClass(ctx);
  await createSnapshot(ctx, { volumeSnapshotClassName });
  await untilReady(ctx);
  const spec = { ...fromSnapshot('snap'), resources: { requests: { storage: '2Gi' } } };
  await createClaim(ctx, className, { name: 'restored', spec });
  await startUser(ctx, { name: 'reader', volume: claimed('restored'), script: reads(file) });
  assert.equal(await untilSaid(ctx, 'reader', 'sum'), written);

  for (const name of ['reader', 'writer']) await endPod(ctx, name);
  await deleteSnapshot(ctx);
  await untilNoSnapshots(ctx);
  await ctx.remove(volumeSnapshotClasses, volumeSnapshotClassName);
  for (const name of ['restored', 'claim']) {
    const { volume } = await untilBound(ctx, name);
    await deleteClaim(ctx, name);
    await untilVolumeGone(ctx, volume.metadata?.name ?? '');
  }

  assert.deepEqual(ownRefusals(ctx), []);
  for (const name of Object.values(releases)) await helmIn(ctx, ['uninstall', name]);
  await untilPodsGone(ctx, components);
  ctx.useDriver(undefined);
  await ctx.eventually('kubelet has forgotten the driver', async () => !(await isRegistered(ctx)));
  await untilOnly(ctx, 'objects', { list: () => allObjects(ctx), before: objects, stay: leasesOf(ctx) });
  await untilOnly(ctx, 'mounts', { list: () => Promise.resolve(node.mounts()), before: mounts, stay: [] });
  assert.deepEqual(leftOnNode(node, { driverName: ctx.driverName, state }), []);
}

interface Installed {
  readonly driver: DriverDoor;
  /** The data of the driver. */
  readonly state: string;
}

/** Both charts by helm: the example's values from its own file, and the stand-in's over them. */
async function install(
  ctx: ScenarioContext,
  { example: name, needsPorts }: Installation,
  example: Example,
): Promise<Installed> {
  const { testRun, driverName } = ctx;
  const { kubeletRoot } = nodeOf(ctx);
  const folder = join(kubeletRoot, 'plugins', driverName);
  const { args, control, stateFolder } = await testDriverCommand({
    // Beside the socket, not where it is: hooks of drivers empty that folder.
    folder: `${folder}-data`,
    socket: '/csi/csi.sock',
    nodeId: `$(${example.driver.nodeIdEnvName ?? 'NODE_ID'})`,
    settings: { name: driverName },
    flags: [`--drivername=${driverName}`, '--journal-secrets', '--capacity=disk=500Gi'],
  });
  const driver: DriverDoor = { name: driverName, socket: join(folder, 'csi.sock'), control };
  ctx.useDriver(driver);
  const { http, ...nodePorts } = await freePorts(['http', 'livenessProbe', 'nodeDriverRegistrar']);
  const over = standInValues(testRun, example, {
    kubeletRoot,
    folder,
    args: args.slice(1),
    parameters: fileSystem,
    ...(needsPorts === true && { nodePorts }),
  });
  ctx.cleanUp.defer(async () => {
    for (const name of Object.values(releases)) await helmIn(ctx, ['uninstall', name, '--ignore-not-found']);
    await untilPodsGone(ctx, components);
  });
  const snapshots = join(chartsFolder, 'snapshot-controller');
  await helmIn(ctx, ['install', releases.snapshots, snapshots], snapshotControllerValues(testRun, http));
  const chart = join(chartsFolder, 'csi-driver');
  await helmIn(ctx, ['install', releases.driver, chart, '--values', examplePath(name)], over);
  // More replicas than nodes: the others wait for a node.
  for (const component of components) {
    const isOneReady = async (): Promise<boolean> => (await podsOf(ctx, component)).some(isReady);
    await ctx.eventually(`a pod of the ${component} is ready`, isOneReady, 120_000);
  }
  await untilRegistered(ctx, 60_000);
  return { driver, state: stateFolder };
}

async function createForCeph(ctx: ScenarioContext): Promise<void> {
  for (const name of ['ceph-config', 'ceph-csi-config', 'ceph-csi-encryption-kms-config'])
    await ctx.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
  // The class of the example names this namespace.
  const metadata = { name: 'csi-rbd-secret', namespace: 'default' };
  ctx.cleanUp.defer(async () => void (await ctx.api.delete(secrets, metadata)));
  await ctx.api.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata, stringData: secret });
}

async function secretsReach(_: ScenarioContext, driver: DriverDoor): Promise<void> {
  const [created] = await createCalls(driver);
  assert.deepEqual(created?.request.secrets, secret);
  assert.equal(created.request.parameters['csi.storage.k8s.io/pvc/name'], 'claim', 'by --extra-create-metadata');
  const [staged] = await callsOf(driver, '/csi.v1.Node/NodeStageVolume');
  assert.deepEqual(staged?.request.secrets, secret);
}

async function podsAndCapacityReach(ctx: ScenarioContext, driver: DriverDoor): Promise<void> {
  const [published] = await callsOf(driver, '/csi.v1.Node/NodePublishVolume');
  assert.equal(published?.request.volume_context['csi.storage.k8s.io/pod.name'], 'writer');
  const { items } = await ctx.api.list(csiStorageCapacities, { namespace: ctx.namespace });
  assert.deepEqual(
    items.map(({ storageClassName }) => storageClassName),
    ['longhorn'],
  );
}

/** Once the namespace has the two objects that kube-controller-manager makes in each. */
async function objectsBefore(ctx: ScenarioContext): Promise<ReadonlySet<string>> {
  const names = [`ServiceAccount ${ctx.namespace}/default`, `ConfigMap ${ctx.namespace}/kube-root-ca.crt`];
  return await ctx.eventually('the namespace has what every namespace has', async () => {
    const all = new Set(await allObjects(ctx));
    return names.every((name) => all.has(name)) ? all : undefined;
  });
}

/** kubelet makes folders of the node that the example mounts; those that it made go with the scenario. */
function keepFolders(ctx: ScenarioContext, { node: { hostPaths = {} } }: Example): void {
  for (const { path } of Object.values(hostPaths)) {
    const folder = nodeOf(ctx).pathOf(path);
    if (existsSync(folder)) continue;
    ctx.cleanUp.defer(() => {
      if (existsSync(folder)) rmdirSync(folder);
    });
  }
}

/** docs/operations/install.md says so. */
function leasesOf({ namespace, driverName }: ScenarioContext): readonly string[] {
  return [...combinedSubjects, 'snapshot-controller' as const].map(
    (subject) => `Lease ${namespace}/${leaseNameOf(subject, driverName)}`,
  );
}

interface Kept {
  readonly list: () => Promise<readonly string[]>;
  readonly before: ReadonlySet<string>;
  /** What is there now and was not before. */
  readonly stay: readonly string[];
}

async function untilOnly(ctx: ScenarioContext, what: string, { list, before, stay }: Kept): Promise<void> {
  let more: readonly string[] = [];
  const isAll = async (): Promise<boolean> => {
    more = (await list()).filter((each) => !before.has(each)).toSorted();
    return more.join() === stay.toSorted().join();
  };
  try {
    await ctx.eventually(`no more ${what} than before`, isAll);
  } catch (cause) {
    assert.deepEqual(more, stay.toSorted(), `${what} that were not there before: ${String(cause)}`);
  }
}

interface DriverFiles {
  readonly driverName: string;
  readonly state: string;
}

/** Sockets, volumes and snapshots in the storage, loop devices. */
function leftOnNode(node: RealNode, { driverName, state }: DriverFiles): readonly string[] {
  const plugins = join(node.kubeletRoot, 'plugins');
  const sockets = readdirSync(plugins, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isSocket())
    .map(({ parentPath, name }) => `socket ${join(parentPath, name)}`);
  const registered = readdirSync(registrationFolder(node)).filter((name) => name.includes(driverName));
  const stored = ['volumes', 'snapshots'].flatMap((what) =>
    readdirSync(join(state, what)).map((id) => `${what} ${id}`),
  );
  return [...sockets, ...registered, ...stored, ...loopDevicesOver(plugins)];
}
