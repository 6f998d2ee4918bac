// SPDX-License-Identifier: Apache-2.0
/** Both ends of kubelet's plugin registration: the service on a socket, and a client that asks it. */
import { Client, Server, ServerCredentials, credentials } from '@grpc/grpc-js';
import type { ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import type { Clock } from '@csi-sidecars/runtime';
import { codecOf, registrationService } from '../definitions.ts';
import type { PluginInfo, PluginInfoInput, RegistrationStatus } from '../gen/plugin-registration.ts';

export interface RegistrationHandlers {
  readonly getInfo: () => PluginInfoInput;
  /** Called when the answer is on its way. */
  readonly notified: (status: RegistrationStatus) => void;
}

export interface RegistrationServer {
  /** Cuts open calls. Leaves the file of the socket alone. */
  readonly close: () => void;
}

/** Listens; rejects when that is not possible. */
export async function serveRegistration(path: string, handlers: RegistrationHandlers): Promise<RegistrationServer> {
  const server = new Server();
  server.addService(registrationService(), {
    GetInfo: (_call: ServerUnaryCall<object, object>, respond: sendUnaryData<object>) => {
      respond(null, handlers.getInfo());
    },
    NotifyRegistrationStatus: (call: ServerUnaryCall<object, object>, respond: sendUnaryData<object>) => {
      respond(null, {});
      handlers.notified(call.request as RegistrationStatus);
    },
  });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
  return { close: () => server.forceShutdown() };
}

/** Rejects with a ServiceError. */
export async function askRegistration(
  { clock }: { readonly clock: Clock },
  path: string,
  timeoutMs: number,
): Promise<PluginInfo> {
  const client = new Client(`unix:${path}`, credentials.createInsecure());
  const { requestSerialize, responseDeserialize } = codecOf('/pluginregistration.Registration/GetInfo');
  try {
    return await new Promise((resolve, reject) => {
      const deadline = new Date(clock.nowMs() + timeoutMs);
      client.makeUnaryRequest(
        '/pluginregistration.Registration/GetInfo',
        requestSerialize,
        responseDeserialize,
        {},
        { deadline },
        (error, response) => {
          if (error) reject(error);
          else resolve(response as PluginInfo);
        },
      );
    });
  } finally {
    client.close();
  }
}
