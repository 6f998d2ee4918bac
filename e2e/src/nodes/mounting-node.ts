// SPDX-License-Identifier: Apache-2.0
/** A node that knows the scenario's driver through a socket, and mounts with it. */
import { connectCsi, type CsiChannel } from '@csi-sidecars/csi';
import { silentLogger } from '@csi-sidecars/runtime';
import { readNodeDriver, type NodeEmulator } from '@csi-sidecars/sim';
import type { ScenarioContext } from '../scenarios/context.ts';
import { addEmulatedNode } from './emulated-node.ts';

export interface MountingNodeOptions {
  readonly name: string;
  /** Absent: the driver's own. */
  readonly socket?: string;
}

/** The node registers the driver as kubelet would: by asking it who and where it is. */
export async function addMountingNode(
  ctx: ScenarioContext,
  { name, socket = ctx.driver.socket }: MountingNodeOptions,
): Promise<NodeEmulator> {
  const channel = await openChannel(ctx, socket);
  const driver = await readNodeDriver(ctx.driverName, channel, ctx.signal);
  return await addEmulatedNode(ctx, { name, driver, root: `${ctx.scratch}/kubelet-${name}` });
}

/** A connection of the scenario's own. */
export async function openChannel(ctx: ScenarioContext, socket: string = ctx.driver.socket): Promise<CsiChannel> {
  const channel = await connectCsi({ clock: ctx.testRun.clock, log: silentLogger }, { address: `unix://${socket}` });
  ctx.cleanUp.defer(() => channel.close());
  return channel;
}
