// SPDX-License-Identifier: Apache-2.0
/** What a sidecar asks a driver before it works with it. Errors of the calls pass through; the time limit is the caller's. */
import type { CsiCallOptions, CsiChannel } from '../channel/channel.ts';
import type {
  ControllerServiceCapability_RPC_Type,
  GroupControllerServiceCapability_RPC_Type,
  PluginCapability_Service_Type,
} from '../gen/csi.ts';

/** Throws when the driver has no name. The name's syntax is not checked. */
export async function getDriverName(channel: CsiChannel, options: CsiCallOptions): Promise<string> {
  const { name } = await channel.call('/csi.v1.Identity/GetPluginInfo', {}, options);
  if (name === '') throw new Error('driver name is empty');
  return name;
}

/** Absent means ready. */
export async function probe(channel: CsiChannel, options: CsiCallOptions): Promise<boolean> {
  const { ready } = await channel.call('/csi.v1.Identity/Probe', {}, options);
  return ready?.value ?? true;
}

/** Entries without a service type (volume expansion among them) are skipped; unknown numbers are kept. */
export async function getPluginCapabilities(
  channel: CsiChannel,
  options: CsiCallOptions,
): Promise<ReadonlySet<PluginCapability_Service_Type>> {
  const { capabilities } = await channel.call('/csi.v1.Identity/GetPluginCapabilities', {}, options);
  return typesOf(capabilities.map(({ service }) => service));
}

export async function getControllerCapabilities(
  channel: CsiChannel,
  options: CsiCallOptions,
): Promise<ReadonlySet<ControllerServiceCapability_RPC_Type>> {
  const { capabilities } = await channel.call('/csi.v1.Controller/ControllerGetCapabilities', {}, options);
  return typesOf(capabilities.map(({ rpc }) => rpc));
}

export async function getGroupControllerCapabilities(
  channel: CsiChannel,
  options: CsiCallOptions,
): Promise<ReadonlySet<GroupControllerServiceCapability_RPC_Type>> {
  const method = '/csi.v1.GroupController/GroupControllerGetCapabilities';
  const { capabilities } = await channel.call(method, {}, options);
  return typesOf(capabilities.map(({ rpc }) => rpc));
}

function typesOf<T>(entries: readonly ({ readonly type: T } | undefined)[]): ReadonlySet<T> {
  return new Set(entries.flatMap((entry) => (entry ? [entry.type] : [])));
}
