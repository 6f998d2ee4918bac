// SPDX-License-Identifier: Apache-2.0
/**
 * Steps that scenarios of the GCE PD CSI driver share: the driver over its fake cloud, the sidecars with the arguments and rights of its
 * manifests, a node in each zone, and the end, when nothing may be left in the cloud.
 */
import assert from 'node:assert/strict';
import { csiDrivers, persistentVolumeClaims, pods, type Resource, type StorageClass } from '@csi-sidecars/runtime';
import { stubDriver, type NodeEmulator } from '@csi-sidecars/sim';
import { volumeSnapshots } from '@csi-sidecars/volume';
import { type Cloud, type CloudOptions, nodeIdOf, startCloud, type Zone, zones } from '../../gcp/cloud.ts';
import { type GcpManifests, readGcpManifests } from '../../gcp/manifests.ts';
import { addEmulatedNodes } from '../../nodes/emulated-node.ts';
import type { ControllerName } from '../../processes/program.ts';
import { applyRbac, removeBindings } from '../../rbac/apply.ts';
import { accountOf } from '../../rbac/profiles.ts';
import type { ScenarioContext } from '../context.ts';
import type { Need } from '../needs.ts';
import { aCsiDriver } from '../objects.ts';
import { endPod } from '../pod-life.ts';
import { createClass } from '../provisioner/steps.ts';
import { deleteSnapshot, installDefinitions, untilGone } from '../snapshots/steps.ts';

/** The driver is built with Go, which is there where the real control plane was. */
export const needs: readonly Need[] = ['controller-manager', 'scheduler', 'audit'];

export const zoneKey = 'topology.gke.io/zone';
export const waitForPod = { volumeBindingMode: 'WaitForFirstConsumer' } as const;
/** The smallest that the fake cloud restores: its snapshots all have this size. */
export const size = '10Gi';

const controllers = ['csi-provisioner', 'csi-attacher', 'csi-resizer', 'csi-snapshotter'] as const;

export interface GcpNode {
  readonly node: NodeEmulator;
  readonly zone: Zone;
  readonly id: string;
}

export interface Gcp {
  readonly cloud: Cloud;
  /** In the cloud's default zone. */
  readonly first: GcpNode;
  readonly second: GcpNode;
}

export interface GcpOptions extends Pick<CloudOptions, 'operationsTake'> {
  /** Arguments after those of the manifest. */
  readonly args?: Partial<Readonly<Record<ControllerName, readonly string[]>>>;
}

export async function startGcp(ctx: ScenarioContext, { args = {}, ...options }: GcpOptions = {}): Promise<Gcp> {
  const manifests = await readGcpManifests();
  const places = [
    { name: ctx.nameOf('first'), zone: zones.first },
    { name: ctx.nameOf('second'), zone: zones.second },
  ];
  const cloud = await startCloud(ctx, manifests, { instances: places, ...options });
  await ctx.create(csiDrivers, aCsiDriver(ctx.driverName, manifests.csiDriver));
  const emulators = await addEmulatedNodes(
    ctx,
    places.map(({ name, zone }) => {
      const facts = { nodeId: nodeIdOf(zone, name), topology: { [zoneKey]: zone } };
      return { name, driver: stubDriver(ctx.driverName, facts) };
    }),
  );
  const [first, second] = emulators.map((node, index) => {
    const { name, zone } = places[index]!;
    return { node, zone, id: nodeIdOf(zone, name) };
  });
  await installDefinitions(ctx);
  await startSidecars(ctx, manifests, { cloud, args });
  return { cloud, first: first!, second: second! };
}

async function startSidecars(
  ctx: ScenarioContext,
  manifests: GcpManifests,
  { cloud: { socket }, args }: { readonly cloud: Cloud; readonly args: NonNullable<GcpOptions['args']> },
): Promise<void> {
  const { api, namespace } = ctx;
  const rbac = manifests.rbac(namespace);
  ctx.cleanUp.defer(() => removeBindings(api, rbac));
  await applyRbac(api, rbac);
  const account = accountOf(rbac);
  for (const name of controllers) {
    const given = manifests.argsOf(name, { socket, namespace });
    await ctx.startSidecar(name, { account, socket, args: [...given, ...(args[name] ?? [])] });
  }
}

/** A class for disks whose IOPS and throughput can be modified. */
export async function createDiskClass(
  ctx: ScenarioContext,
  parts: Partial<StorageClass> = {},
  what = 'class',
): Promise<string> {
  const parameters = { type: 'hyperdisk-balanced' };
  return await createClass(ctx, { parameters, allowVolumeExpansion: true, ...waitForPod, ...parts }, what);
}

/** Only these nodes have the disk. */
export async function untilHeld(
  ctx: ScenarioContext,
  cloud: Cloud,
  { id, by }: { readonly id: string; readonly by: readonly string[] },
): Promise<void> {
  await ctx.eventually(
    `${id} is attached to ${by.length === 0 ? 'nothing' : by.join(', ')}`,
    async () => {
      const holders = (await cloud.disks()).find((disk) => disk.id === id)?.holders;
      return holders?.length === by.length && by.every((node) => holders.includes(node));
    },
    60_000,
  );
}

/** The user deletes pods, snapshots and claims; then neither a disk nor a snapshot is left in the cloud. */
export async function endAll(ctx: ScenarioContext, cloud: Cloud): Promise<void> {
  const { api, namespace } = ctx;
  const namesOf = async (resource: Resource) =>
    (await api.list(resource, { namespace })).items.map(({ metadata }) => metadata?.name ?? '');
  for (const name of await namesOf(pods)) await endPod(ctx, name);
  for (const name of await namesOf(volumeSnapshots)) {
    await deleteSnapshot(ctx, name);
    await untilGone(ctx, volumeSnapshots, name);
  }
  for (const name of await namesOf(persistentVolumeClaims)) await ctx.remove(persistentVolumeClaims, name);
  await ctx.eventually(
    'nothing is left in the cloud',
    async () => (await cloud.disks()).length + (await cloud.snapshots()).length === 0,
    60_000,
  );
}

/** A disk of the test's own project. */
export function zoneOf(handle: string): string {
  const [, zone] = /^projects\/test-project\/(?:zones|regions)\/([^/]+)\/disks\/pvc-[0-9a-f-]+$/.exec(handle) ?? [];
  assert.ok(zone !== undefined, `${handle} is a disk of the fake cloud`);
  return zone;
}
