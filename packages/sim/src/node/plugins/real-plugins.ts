// SPDX-License-Identifier: Apache-2.0
/** The plugin manager's port on a real machine: a folder with sockets, and gRPC over them. */
import { Client, credentials } from '@grpc/grpc-js';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { connectCsi, type RegistrationMethods } from '@csi-sidecars/csi';
import { codecOf } from '@csi-sidecars/csi/testing';
import type { Clock, Logger } from '@csi-sidecars/runtime';
import type { PluginPort, Registrar } from './plugin-manager.ts';

export interface RealPluginsOptions {
  /** The folder, like kubelet's `<root>/plugins_registry`; it must exist. */
  readonly folder: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const infoTimeoutMs = 1_000;
const notifyTimeoutMs = 5_000;
const connectTimeoutMs = 10_000;

export function realPlugins({ folder, clock, logger }: RealPluginsOptions): PluginPort {
  return {
    sockets: () => findSockets(folder),
    dial: (socket) => dialRegistrar(socket, clock),
    connect: (endpoint, signal) => connectCsi({ clock, log: logger }, { address: endpoint, connectTimeoutMs, signal }),
  };
}

/** Sockets at any depth; names that begin with a dot are ignored. */
async function findSockets(folder: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.name.startsWith('.')) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) for (const [inner, id] of await findSockets(path)) found.set(inner, id);
    if (!entry.isSocket()) continue;
    const facts = await stat(path, { bigint: true }).catch(() => undefined);
    if (facts !== undefined) found.set(path, `${facts.ino}.${facts.ctimeNs}`);
  }
  return found;
}

function dialRegistrar(socket: string, clock: Clock): Registrar {
  const client = new Client(`unix://${socket}`, credentials.createInsecure());

  function call<M extends keyof RegistrationMethods>(
    method: M,
    request: RegistrationMethods[M]['request'],
    timeoutMs: number,
  ): Promise<RegistrationMethods[M]['response']> {
    const { requestSerialize, responseDeserialize } = codecOf(method);
    const deadline = new Date(clock.nowMs() + timeoutMs);
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        method,
        requestSerialize,
        responseDeserialize,
        request,
        { deadline },
        (error, response) => {
          if (error !== null) reject(error);
          else resolve((response ?? {}) as RegistrationMethods[M]['response']);
        },
      );
    });
  }

  return {
    getInfo: () => call('/pluginregistration.Registration/GetInfo', {}, infoTimeoutMs),
    async notify({ registered, error }) {
      const status = { plugin_registered: registered, error };
      await call('/pluginregistration.Registration/NotifyRegistrationStatus', status, notifyTimeoutMs);
    },
    close: () => client.close(),
  };
}
