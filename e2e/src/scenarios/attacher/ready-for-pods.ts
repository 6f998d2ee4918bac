// SPDX-License-Identifier: Apache-2.0
/** Prepares everything that a pod with an attachable volume needs: nodes that mount, the driver, both sidecars and a bound claim. */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import type { NodeEmulator } from '@csi-sidecars/sim';
import type { DriverInstance } from '../../driver/driver.ts';
import { addMountingNode } from '../../nodes/mounting-node.ts';
import type { SupervisedProcess } from '../../processes/supervised-process.ts';
import type { AnnouncedDriverOptions, ScenarioContext } from '../context.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import { nodeIdOf, startAttachable } from './steps.ts';

/** Arguments of csi-attacher with which it retries soon after a failure. */
export const quickRetries: readonly string[] = ['--retry-interval-start=500ms', '--retry-interval-max=1s'];

export interface ReadyOptions {
  readonly driver?: Omit<AnnouncedDriverOptions, 'nodes'>;
  /** The arguments of csi-attacher. */
  readonly args?: readonly string[];
}

export interface Ready {
  readonly driver: DriverInstance;
  readonly attacher: SupervisedProcess;
  /** The PersistentVolume of the claim. */
  readonly volume: PersistentVolume;
}

export interface ReadyNode extends Ready {
  readonly node: NodeEmulator;
  /** The node id under which the driver knows the node. */
  readonly id: string;
}

export async function readyOnOneNode(ctx: ScenarioContext, options: ReadyOptions = {}): Promise<ReadyNode> {
  const { nodes, ...ready } = await readyForPods(ctx, ['node'], options);
  const [node] = nodes;
  return { ...ready, node: node!, id: nodeIdOf(node!.name) };
}

export interface ReadyNodes extends Ready {
  readonly one: NodeEmulator;
  readonly two: NodeEmulator;
}

export async function readyOnTwoNodes(ctx: ScenarioContext, options: ReadyOptions = {}): Promise<ReadyNodes> {
  const { nodes, ...ready } = await readyForPods(ctx, ['one', 'two'], options);
  const [one, two] = nodes;
  return { ...ready, one: one!, two: two! };
}

async function readyForPods(
  ctx: ScenarioContext,
  what: readonly string[],
  options: ReadyOptions,
): Promise<Ready & { readonly nodes: readonly NodeEmulator[] }> {
  const names = what.map((each) => ctx.nameOf(each));
  const driver = await startAttachable(ctx, { ...options.driver, nodes: names.map(nodeIdOf) });
  const nodes: NodeEmulator[] = [];
  for (const name of names) nodes.push(await addMountingNode(ctx, { name, socket: driver.socketOf(nodeIdOf(name)) }));
  await ctx.startProvisioner();
  const attacher = await ctx.startAttacher(options.args === undefined ? {} : { args: options.args });
  await createClaim(ctx, await createClass(ctx));
  const { volume } = await untilBound(ctx);
  return { driver, attacher, volume, nodes };
}
