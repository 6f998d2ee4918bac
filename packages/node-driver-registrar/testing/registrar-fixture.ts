// SPDX-License-Identifier: Apache-2.0
/** A registrar between a driver and a kubelet, all on real sockets in a temporary folder, in virtual time. */
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client, type ServiceError, credentials } from '@grpc/grpc-js';
import type { RegistrationMethods } from '@csi-sidecars/csi';
import { type CsiServer, type Handlers, serveCsi, codecOf } from '@csi-sidecars/csi/testing';
import { until } from '@csi-sidecars/runtime/testing';
import { type FakeHost, fakeHost } from '@csi-sidecars/sidecar/testing';
import { runRegistrarProgram } from '../src/program.ts';
import { type SocketFiles, systemSocketFiles } from '../src/socket-files.ts';
import type { Platform } from '../src/stale-socket.ts';

export const driverName = 'a.example.com';
export const endpoint = '/var/lib/kubelet/plugins/a.example.com/csi.sock';

export interface RegistrarOptions {
  /** Further arguments. */
  readonly args?: readonly string[];
  readonly driver?: Handlers;
  readonly files?: Partial<SocketFiles>;
  readonly platform?: Platform;
  /** Replaces `--plugin-registration-path`. */
  readonly registration?: (folder: string) => string;
  /** Creates files before the registrar starts. */
  readonly before?: (place: Place) => unknown;
}

export interface Place {
  readonly folder: string;
  readonly registration: string;
  /** Path of the registrar's socket, with the driver's usual name. */
  readonly socket: string;
  readonly driver: CsiServer;
}

export interface RunningRegistrar extends Place, AsyncDisposable {
  readonly host: FakeHost;
  readonly code: Promise<number>;
  /** Resolves when its socket exists. */
  readonly published: () => Promise<void>;
  /** SIGTERM, as the lifecycle passes it on; resolves with the exit code. */
  readonly stop: () => Promise<number>;
}

export function namedDriver(name: string = driverName): Handlers {
  return { '/csi.v1.Identity/GetPluginInfo': () => ({ name }) };
}

export async function startRegistrar(options: RegistrarOptions = {}): Promise<RunningRegistrar> {
  const driver = await serveCsi(options.driver ?? namedDriver());
  const folder = dirname(driver.path);
  mkdirSync(join(folder, 'reg'));
  const registration = options.registration?.(folder) ?? join(folder, 'reg');
  const place = { folder, registration, socket: `${registration}/${driverName}-reg.sock`, driver };
  await options.before?.(place);
  const host = fakeHost({
    args: [
      `--csi-address=${driver.path}`,
      `--kubelet-registration-path=${endpoint}`,
      `--plugin-registration-path=${registration}`,
      ...(options.args ?? []),
    ],
  });
  const files = { ...systemSocketFiles(), ...options.files };
  const code = runRegistrarProgram({ host, lifecycle: host.lifecycle, files, platform: options.platform ?? 'unix' });
  const stop = (): Promise<number> => {
    host.stop();
    return code;
  };
  return {
    ...place,
    host,
    code,
    published: () => until(() => host.logged().includes('"Registration Server started"')),
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop().catch(() => undefined);
      await driver[Symbol.asyncDispose]();
    },
  };
}

export interface Kubelet extends Disposable {
  call<M extends keyof RegistrationMethods>(
    method: M,
    request: RegistrationMethods[M]['request'],
  ): Promise<RegistrationMethods[M]['response']>;
  /** Calls any method; resolves with the code of the failure. */
  readonly codeOf: (method: string) => Promise<number | undefined>;
}

const infoMethod = '/pluginregistration.Registration/GetInfo';

/** Kubelet's side of the protocol, on grpc-js. */
export function kubeletAt(socket: string): Kubelet {
  const client = new Client(`unix:${socket}`, credentials.createInsecure());
  const send = (method: string, codecMethod: string, request: object): Promise<object> => {
    const codec = codecOf(codecMethod);
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(method, codec.requestSerialize, codec.responseDeserialize, request, (error, response) => {
        if (error) reject(error);
        else resolve(response ?? {});
      });
    });
  };
  return {
    call: async (method, request) => (await send(method, method, request)) as never,
    codeOf: (method) =>
      send(method, infoMethod, {}).then(
        () => undefined,
        (error: unknown) => (error as ServiceError).code,
      ),
    [Symbol.dispose]: () => client.close(),
  };
}
