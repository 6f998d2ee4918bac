// SPDX-License-Identifier: Apache-2.0
/** The calls with which a sidecar learns about its driver at start-up. Errors of the calls are passed on; the caller sets the time limit. */
import type { CsiCallOptions, CsiChannel } from '../channel/channel.ts';

/** Throws when the driver has no name. The name's syntax is not checked. */
export async function getDriverName(channel: CsiChannel, options: CsiCallOptions): Promise<string> {
  const { name } = await channel.call('/csi.v1.Identity/GetPluginInfo', {}, options);
  if (name === '') throw new Error('driver name is empty');
  return name;
}

/** As in the CSI declaration, e.g. `CREATE_DELETE_VOLUME`. A capability that this version does not know appears as its number in digits. */
export type CapabilityNames = ReadonlySet<string>;

/** Absent means ready. */
export async function probe(channel: CsiChannel, options: CsiCallOptions): Promise<boolean> {
  const { ready } = await channel.call('/csi.v1.Identity/Probe', {}, options);
  return ready?.value ?? true;
}

/** Entries without a service type are skipped, volume expansion among them. */
export async function getPluginCapabilities(channel: CsiChannel, options: CsiCallOptions): Promise<CapabilityNames> {
  const { capabilities } = await channel.call('/csi.v1.Identity/GetPluginCapabilities', {}, options);
  return typesOf(capabilities.map(({ service }) => service));
}

export async function getControllerCapabilities(
  channel: CsiChannel,
  options: CsiCallOptions,
): Promise<CapabilityNames> {
  const { capabilities } = await channel.call('/csi.v1.Controller/ControllerGetCapabilities', {}, options);
  return typesOf(capabilities.map(({ rpc }) => rpc));
}

export async function getGroupControllerCapabilities(
  channel: CsiChannel,
  options: CsiCallOptions,
): Promise<CapabilityNames> {
  const method = '/csi.v1.GroupController/GroupControllerGetCapabilities';
  const { capabilities } = await channel.call(method, {}, options);
  return typesOf(capabilities.map(({ rpc }) => rpc));
}

function typesOf(entries: readonly ({ readonly type: string | number } | undefined)[]): CapabilityNames {
  return new Set(entries.flatMap((entry) => (entry ? [String(entry.type)] : [])));
}

/** What a driver reported about itself at start-up, in the form that controllers use. */
export interface DriverInfo {
  readonly name: string;
  /** e.g. `CONTROLLER_SERVICE`. */
  readonly pluginCapabilities: CapabilityNames;
  /** e.g. `CREATE_DELETE_VOLUME`. */
  readonly controllerCapabilities: CapabilityNames;
}
