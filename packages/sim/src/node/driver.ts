// SPDX-License-Identifier: Apache-2.0
/**
 * A CSI driver as a node knows it: the data of its registration, and the calls that mount volumes. A driver without a
 * channel mounts nothing and always succeeds; it is for nodes of which only the API side matters.
 */
import type { CsiChannel } from '@csi-sidecars/csi';

export interface NodeDriver {
  readonly name: string;
  readonly nodeId: string;
  readonly topology: Readonly<Record<string, string>>;
  /** 0: no limit. */
  readonly maxVolumes: number;
  readonly capabilities: ReadonlySet<string>;
  readonly channel: CsiChannel | undefined;
}

const infoTimeoutMs = 120_000;

/** Calls a driver as kubelet does when it registers it. */
export async function readNodeDriver(name: string, channel: CsiChannel, signal: AbortSignal): Promise<NodeDriver> {
  const options = { timeoutMs: infoTimeoutMs, signal };
  const info = await channel.call('/csi.v1.Node/NodeGetInfo', {}, options);
  if (info.node_id === '') throw new Error(`driver ${name} has no node id`);
  const { capabilities } = await channel.call('/csi.v1.Node/NodeGetCapabilities', {}, options);
  return {
    name,
    nodeId: info.node_id,
    topology: info.accessible_topology?.segments ?? {},
    maxVolumes: Math.min(Number(info.max_volumes_per_node), 2 ** 31 - 1),
    capabilities: new Set(capabilities.map((capability) => String(capability.rpc?.type ?? ''))),
    channel,
  };
}

/** A driver without a process: only its side of the API is emulated. */
export function stubDriver(name: string, facts: Partial<Omit<NodeDriver, 'name' | 'channel'>> = {}): NodeDriver {
  const defaults = { nodeId: 'node', topology: {}, maxVolumes: 0, capabilities: new Set<string>() };
  return { name, ...defaults, ...facts, channel: undefined };
}
