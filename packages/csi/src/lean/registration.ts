// SPDX-License-Identifier: Apache-2.0
/** The service with which a plugin introduces itself to kubelet. */
import type { PluginInfoInput, RegistrationStatus } from '../gen/plugin-registration.ts';
import { type UnaryServer, serveUnary } from './unary-server.ts';

export interface RegistrationHandlers {
  readonly getInfo: () => PluginInfoInput;
  readonly notified: (status: RegistrationStatus) => void;
}

/** Listens; rejects when that is not possible. */
export function serveRegistration(path: string, { getInfo, notified }: RegistrationHandlers): Promise<UnaryServer> {
  return serveUnary(path, {
    '/pluginregistration.Registration/GetInfo': getInfo,
    '/pluginregistration.Registration/NotifyRegistrationStatus': (status) => {
      notified(status as RegistrationStatus);
      return {};
    },
  });
}
