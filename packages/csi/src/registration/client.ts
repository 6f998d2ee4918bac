// SPDX-License-Identifier: Apache-2.0
/** Asks the server of a registration socket for its name, as kubelet does. */
import { connectIdentity } from '../channel/connect-identity.ts';
import type { ConnectCsiDeps, ConnectCsiOptions } from '../channel/connect-through.ts';
import type { PluginInfo } from '../gen/plugin-registration.ts';
import type { Method } from '../methods.ts';

export interface RegistrationClient {
  /** Rejects with a CsiError. */
  readonly getInfo: (options: { readonly timeoutMs: number; readonly signal?: AbortSignal }) => Promise<PluginInfo>;
  readonly close: () => void;
}

/** Rejects like `connectCsi`. */
export async function connectRegistration(
  deps: ConnectCsiDeps,
  options: ConnectCsiOptions,
): Promise<RegistrationClient> {
  const channel = await connectIdentity(deps, options);
  // The channel's types have the methods of CSI; this method is called in the same way.
  const method = '/pluginregistration.Registration/GetInfo' as Method;
  return {
    getInfo: async (call) => (await channel.call(method, {}, call)) as unknown as PluginInfo,
    close: channel.close,
  };
}
