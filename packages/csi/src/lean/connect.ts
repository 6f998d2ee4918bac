// SPDX-License-Identifier: Apache-2.0
/**
 * The channels of the programs that run on every node: CSI's Identity service, and kubelet's plugin registration. The same
 * connection as everybody's (channel/), over a gRPC that costs a fraction of the memory: docs/adr/0006.
 */
import type { CsiChannel } from '../channel/channel.ts';
import { type ConnectCsiDeps, type ConnectCsiOptions, connectThrough } from '../channel/connect-through.ts';
import type { PluginInfo } from '../gen/plugin-registration.ts';
import type { Method } from '../methods.ts';
import { createSanitizer } from '../sanitizer/sanitizer.ts';
import { leanDescriptor } from './methods.ts';
import { leanDialer } from './unary-client.ts';

const sanitizer = /* @__PURE__ */ createSanitizer(leanDescriptor);

/** Methods of other services are Unimplemented. Rejects as `connectCsi`. */
export function connectIdentity(deps: ConnectCsiDeps, options: ConnectCsiOptions): Promise<CsiChannel> {
  return connectThrough({ dial: leanDialer(deps.clock), sanitizer }, deps, options);
}

export interface RegistrationClient {
  /** Rejects with a CsiError. */
  readonly getInfo: (options: { readonly timeoutMs: number; readonly signal?: AbortSignal }) => Promise<PluginInfo>;
  readonly close: () => void;
}

/** Rejects as `connectCsi`. */
export async function connectRegistration(
  deps: ConnectCsiDeps,
  options: ConnectCsiOptions,
): Promise<RegistrationClient> {
  const channel = await connectIdentity(deps, options);
  // The channel's types know the methods of CSI; this one travels as they do.
  const method = '/pluginregistration.Registration/GetInfo' as Method;
  return {
    getInfo: async (call) => (await channel.call(method, {}, call)) as unknown as PluginInfo,
    close: channel.close,
  };
}
