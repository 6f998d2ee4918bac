// SPDX-License-Identifier: Apache-2.0
/**
 * Steps that scenarios of the attacher share: creating volumes and attachments, adding nodes that exist in the API only, and waiting
 * for the states of an attachment.
 */
import assert from 'node:assert/strict';
import type { CsiChannel } from '@csi-sidecars/csi';
import {
  ignoreNotFound,
  persistentVolumes,
  volumeAttachments,
  type PersistentVolume,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import { stubDriver, type NodeEmulator } from '@csi-sidecars/sim';
import type { DriverInstance } from '../../driver/driver.ts';
import { addEmulatedNodes } from '../../nodes/emulated-node.ts';
import type { AnnouncedDriverOptions, ScenarioContext } from '../context.ts';
import { anAttachment, aVolume } from '../objects.ts';
import { findVolume, untilVolumeGone } from '../provisioner/steps.ts';

export const nodeIdAnnotation = 'csi.alpha.kubernetes.io/node-id';

/** The taint with which the attach/detach controller detaches volumes from a node without waiting for the node. */
export const outOfService = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' };

const callMs = 30_000;

/** The finalizer of csi-attacher on VolumeAttachments and PersistentVolumes. */
export function finalizerOf({ driverName }: ScenarioContext): string {
  return `external-attacher/${driverName.replaceAll('.', '-')}`;
}

/** Starts a driver whose volumes must be attached. */
export async function startAttachable(
  ctx: ScenarioContext,
  options: AnnouncedDriverOptions = {},
): Promise<DriverInstance> {
  return await ctx.startDriver({ ...options, csiDriver: { attachRequired: true, ...options.csiDriver } });
}

/** The node id under which the driver knows a node. It differs from the name of the node in Kubernetes. */
export function nodeIdOf(nodeName: string): string {
  return `id-of-${nodeName}`;
}

/** Adds nodes that mount nothing: the driver on them exists in the API only. */
export async function addPaperNodes(ctx: ScenarioContext, what: readonly string[]): Promise<readonly NodeEmulator[]> {
  const names = what.map((each) => ctx.nameOf(each));
  return await addEmulatedNodes(
    ctx,
    names.map((name) => ({ name, driver: stubDriver(ctx.driverName, { nodeId: nodeIdOf(name) }) })),
  );
}

export async function addPaperNode(ctx: ScenarioContext, what: string): Promise<NodeEmulator> {
  const [node] = await addPaperNodes(ctx, [what]);
  return node!;
}

export interface HandMadeVolume {
  /** The handle of the volume in the storage. */
  readonly handle: string;
  /** The name of the PersistentVolume. */
  readonly name: string;
}

export interface VolumeParts {
  readonly spec?: Partial<NonNullable<PersistentVolume['spec']>>;
  readonly csi?: Partial<NonNullable<NonNullable<PersistentVolume['spec']>['csi']>>;
}

/**
 * Creates a volume in the storage and its PersistentVolume; `releaseVolume` deletes both. Scenarios create everything that an attachment
 * needs before csi-attacher starts, because its watches are not ordered among each other.
 */
export async function makeVolume(
  ctx: ScenarioContext,
  { channel, what }: { readonly channel: CsiChannel; readonly what: string },
  { spec, csi }: VolumeParts = {},
): Promise<HandMadeVolume> {
  const name = ctx.nameOf(what);
  const volume_capabilities = [{ mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } }];
  const { volume } = await channel.call(
    '/csi.v1.Controller/CreateVolume',
    { name, volume_capabilities },
    { timeoutMs: callMs, signal: ctx.signal },
  );
  const handle = volume?.volume_id ?? '';
  await ctx.create(persistentVolumes, aVolume(name, { driver: ctx.driverName, volumeHandle: handle, ...csi }, spec));
  return { handle, name };
}

/** Deletes a volume that is not attached any more. */
export async function releaseVolume(ctx: ScenarioContext, volume: HandMadeVolume, channel: CsiChannel): Promise<void> {
  await ctx.remove(persistentVolumes, volume.name);
  await untilVolumeGone(ctx, volume.name);
  await deleteFromDriver(ctx, volume, channel);
}

export async function deleteFromDriver(
  ctx: ScenarioContext,
  { handle }: HandMadeVolume,
  channel: CsiChannel,
): Promise<void> {
  await channel.call(
    '/csi.v1.Controller/DeleteVolume',
    { volume_id: handle },
    { timeoutMs: callMs, signal: ctx.signal },
  );
}

/** Creates an attachment under a name that the scenario chooses. */
export async function createAttachment(
  ctx: ScenarioContext,
  volumeName: string,
  node: Pick<NodeEmulator, 'name'>,
): Promise<string> {
  const name = `${volumeName}-on-${node.name}`;
  await ctx.create(
    volumeAttachments,
    anAttachment(name, { attacher: ctx.driverName, volumeName, nodeName: node.name }),
  );
  return name;
}

export async function findAttachment(ctx: ScenarioContext, name: string): Promise<VolumeAttachment | undefined> {
  return await ctx.api.get(volumeAttachments, { name }).catch(ignoreNotFound);
}

export async function untilAttached(ctx: ScenarioContext, name: string, timeoutMs?: number): Promise<VolumeAttachment> {
  return await ctx.eventually(
    `${name} is attached`,
    async () => {
      const attachment = await findAttachment(ctx, name);
      return attachment?.status?.attached === true ? attachment : undefined;
    },
    timeoutMs,
  );
}

export async function detach(ctx: ScenarioContext, name: string): Promise<void> {
  await ctx.remove(volumeAttachments, name);
  await untilDetached(ctx, name);
}

export async function untilDetached(ctx: ScenarioContext, name: string, timeoutMs?: number): Promise<void> {
  await ctx.eventually(`${name} is gone`, async () => (await findAttachment(ctx, name)) === undefined, timeoutMs);
}

/** The attachments of the scenario's driver, or only those to `node`. */
export async function attachmentsOf(
  ctx: ScenarioContext,
  node?: Pick<NodeEmulator, 'name'>,
): Promise<readonly VolumeAttachment[]> {
  const { items } = await ctx.api.list(volumeAttachments);
  return items.filter(
    ({ spec }) => spec.attacher === ctx.driverName && (node === undefined || spec.nodeName === node.name),
  );
}

/** Waits for the attachment of a pod's volume to the node. */
export async function untilAttachmentOn(
  ctx: ScenarioContext,
  node: Pick<NodeEmulator, 'name'>,
): Promise<VolumeAttachment> {
  return await ctx.eventually(`an attachment to ${node.name}`, async () => (await attachmentsOf(ctx, node))[0]);
}

/** The ids of the nodes to which the storage has the volume attached. */
export async function holdersOf({ control }: DriverInstance, handle: string): Promise<readonly string[]> {
  const volume = (await control.volumes()).find(({ id }) => id === handle);
  assert.ok(volume !== undefined, `there is a volume ${handle}`);
  return volume.attachments.map(({ nodeId }) => nodeId);
}

export async function finalizersOfVolume(ctx: ScenarioContext, name: string): Promise<readonly string[]> {
  return (await findVolume(ctx, name))?.metadata?.finalizers ?? [];
}
