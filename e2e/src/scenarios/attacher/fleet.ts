// SPDX-License-Identifier: Apache-2.0
/** Many attachments without pods: volumes that the scenario creates, and nodes that exist in the API only. */
import type { CsiChannel } from '@csi-sidecars/csi';
import { persistentVolumes, volumeAttachments } from '@csi-sidecars/runtime';
import type { NodeEmulator } from '@csi-sidecars/sim';
import type { DriverInstance } from '../../driver/driver.ts';
import { openChannel } from '../../nodes/mounting-node.ts';
import type { ScenarioContext } from '../context.ts';
import {
  addPaperNodes,
  attachmentsOf,
  createAttachment,
  deleteFromDriver,
  makeVolume,
  nodeIdOf,
  startAttachable,
  type HandMadeVolume,
  type VolumeParts,
} from './steps.ts';

const convergeMs = 120_000;

export interface Fleet {
  readonly driver: DriverInstance;
  readonly channel: CsiChannel;
  readonly nodes: readonly NodeEmulator[];
  readonly volumes: readonly HandMadeVolume[];
}

export interface FleetOptions {
  readonly nodes: number;
  readonly volumes: number;
  /** Called with `volume-0` and so on. */
  readonly volumeParts?: (what: string) => VolumeParts;
}

export async function openFleet(
  ctx: ScenarioContext,
  { nodes: nodeCount, volumes: volumeCount, volumeParts = () => ({}) }: FleetOptions,
): Promise<Fleet> {
  const named = (what: string, count: number): readonly string[] =>
    Array.from({ length: count }, (_, index) => `${what}-${index}`);
  const nodes = await addPaperNodes(ctx, named('node', nodeCount));
  const driver = await startAttachable(ctx, { nodes: nodes.map(({ name }) => nodeIdOf(name)) });
  const channel = await openChannel(ctx);
  const volumes = await Promise.all(
    named('volume', volumeCount).map((what) => makeVolume(ctx, { channel, what }, volumeParts(what))),
  );
  return { driver, channel, nodes, volumes };
}

/** Creates one attachment for each of these volumes, to the nodes in turn. */
export async function createAttachments(
  ctx: ScenarioContext,
  { nodes }: Fleet,
  volumes: readonly HandMadeVolume[],
): Promise<void> {
  await Promise.all(volumes.map(({ name }, index) => createAttachment(ctx, name, nodes[index % nodes.length]!)));
}

export async function attachAll(ctx: ScenarioContext, fleet: Fleet): Promise<void> {
  await createAttachments(ctx, fleet, fleet.volumes);
  await untilAllAttached(ctx, fleet.volumes.length);
}

export async function untilAllAttached(ctx: ScenarioContext, count: number): Promise<void> {
  await ctx.eventually(
    `all ${count} attachments are attached`,
    async () => {
      const all = await attachmentsOf(ctx);
      return all.length === count && all.every(({ status }) => status?.attached === true);
    },
    convergeMs,
  );
}

export async function deleteAttachments(ctx: ScenarioContext, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => ctx.remove(volumeAttachments, name)));
}

export async function detachAll(ctx: ScenarioContext): Promise<void> {
  const names = (await attachmentsOf(ctx)).map(({ metadata }) => metadata?.name ?? '');
  await deleteAttachments(ctx, names);
  await untilNoneAttached(ctx);
}

export async function untilNoneAttached(ctx: ScenarioContext): Promise<void> {
  await ctx.eventually('no attachment is left', async () => (await attachmentsOf(ctx)).length === 0, convergeMs);
}

export async function releaseAll(ctx: ScenarioContext, { volumes, channel }: Fleet): Promise<void> {
  const names = new Set(volumes.map(({ name }) => name));
  await Promise.all([...names].map((name) => ctx.remove(persistentVolumes, name)));
  // One list for all of them: a request for each would be most of the API server's work.
  await ctx.eventually(
    'the volume objects are gone',
    async () => {
      const { items } = await ctx.api.list(persistentVolumes);
      return !items.some(({ metadata }) => names.has(metadata?.name ?? ''));
    },
    convergeMs,
  );
  await Promise.all(volumes.map((volume) => deleteFromDriver(ctx, volume, channel)));
}
