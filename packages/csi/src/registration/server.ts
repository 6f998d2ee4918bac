// SPDX-License-Identifier: Apache-2.0
/** The service with which a plugin introduces itself to kubelet. */
import { type UnaryMethod, type UnaryServer, serveUnary } from '@csi-sidecars/grpc';
import type { Clock } from '@csi-sidecars/runtime';
import type { PluginInfoInput, RegistrationStatus } from '../gen/plugin-registration.ts';
import { nodeCodecOf } from '../node-methods.ts';

export interface RegistrationHandlers {
  readonly getInfo: () => PluginInfoInput;
  readonly notified: (status: RegistrationStatus) => void;
}

/** Listens; rejects if that is not possible. */
export function serveRegistration(
  deps: { readonly clock: Clock },
  path: string,
  { getInfo, notified }: RegistrationHandlers,
): Promise<UnaryServer> {
  const methods = new Map([
    method('GetInfo', getInfo),
    method('NotifyRegistrationStatus', (status) => {
      notified(status as RegistrationStatus);
      return {};
    }),
  ]);
  return serveUnary({ clock: deps.clock, methods }, path);
}

function method(name: string, handle: UnaryMethod['handle']): [string, UnaryMethod] {
  const path = `/pluginregistration.Registration/${name}`;
  const codec = nodeCodecOf(path);
  if (codec === undefined) throw new Error(`no such method: ${path}`);
  return [path, { codec, handle }];
}
