// SPDX-License-Identifier: Apache-2.0
/**
 * Steps that scenarios of the attacher share: volumes and attachments made by hand, nodes that only the API knows, and the
 * moments of an attachment's life.
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
import { paperDriver, type NodeEmulator } from '@csi-sidecars/sim';
import type { DriverInstance } from '../../driver/driver.ts';
import { addEmulatedNodes } from '../../nodes/emulated-node.ts';
import type { AnnouncedDriverOptions, ScenarioContext } from '../context.ts';
import { anAttachment, aVolume } from '../objects.ts';
import { findVolume, untilVolumeGone } from '../provisioner/steps.ts';

export const nodeIdAnnotation = 'csi.alpha.kubernetes.io/node-id';

/** Takes a volume from a node at once, whatever the node does. */
export const outOfService = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' };

const callMs = 30_000;

/** On attachments and volume objects. */
export function finalizerOf({ driverName }: ScenarioContext): string {
  return `external-attacher/${driverName.replaceAll('.', '-')}`;
}

/** A driver whose volumes must be attached. */
export async function startAttachable(
  ctx: ScenarioContext,
  options: AnnouncedDriverOptions = {},
): Promise<DriverInstance> {
  return await ctx.startDriver({ ...options, csiDriver: { attachRequired: true, ...options.csiDriver } });
}

/** What the driver calls a node: never the name that Kubernetes has for it. */
export function nodeIdOf(nodeName: string): string {
  return `id-of-${nodeName}`;
}

/** Nodes that mount nothing: of the driver only the API knows. */
export async function addPaperNodes(ctx: ScenarioContext, what: readonly string[]): Promise<readonly NodeEmulator[]> {
  const names = what.map((each) => ctx.nameOf(each));
  return await addEmulatedNodes(
    ctx,
    names.map((name) => ({ name, driver: paperDriver(ctx.driverName, { nodeId: nodeIdOf(name) }) })),
  );
}

export async function addPaperNode(ctx: ScenarioContext, what: string): Promise<NodeEmulator> {
  const [node] = await addPaperNodes(ctx, [what]);
  return node!;
}

export interface HandMadeVolume {
  /** In the storage. */
  readonly handle: string;
  /** Of the volume object. */
  readonly name: string;
}

export interface VolumeParts {
  readonly spec?: Partial<NonNullable<PersistentVolume['spec']>>;
  readonly csi?: Partial<NonNullable<NonNullable<PersistentVolume['spec']>['csi']>>;
}

/**
 * A volume in the storage and its object; `releaseVolume` takes both away. Made before csi-attacher starts, as everything that
 * an attachment needs: its watches are not ordered among each other.
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

/** Nobody has it attached any more. */
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

/** Under a name of the scenario's own. */
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

/** Of the scenario's driver; with `node`: there. */
export async function attachmentsOf(
  ctx: ScenarioContext,
  node?: Pick<NodeEmulator, 'name'>,
): Promise<readonly VolumeAttachment[]> {
  const { items } = await ctx.api.list(volumeAttachments);
  return items.filter(
    ({ spec }) => spec.attacher === ctx.driverName && (node === undefined || spec.nodeName === node.name),
  );
}

/** The attachment that a pod's volume has on the node. */
export async function untilAttachmentOn(
  ctx: ScenarioContext,
  node: Pick<NodeEmulator, 'name'>,
): Promise<VolumeAttachment> {
  return await ctx.eventually(`an attachment to ${node.name}`, async () => (await attachmentsOf(ctx, node))[0]);
}

/** Ids of the nodes that the storage has the volume attached to. */
export async function holdersOf({ control }: DriverInstance, handle: string): Promise<readonly string[]> {
  const volume = (await control.volumes()).find(({ id }) => id === handle);
  assert.ok(volume !== undefined, `there is a volume ${handle}`);
  return volume.attachments.map(({ nodeId }) => nodeId);
}

export async function finalizersOfVolume(ctx: ScenarioContext, name: string): Promise<readonly string[]> {
  return (await findVolume(ctx, name))?.metadata?.finalizers ?? [];
}
