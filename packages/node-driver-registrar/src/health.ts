// SPDX-License-Identifier: Apache-2.0
/**
 * `/healthz`: the socket is there, and whoever answers behind it speaks for our driver. First match wins:
 *
 * | Found | Status | Body |
 * |---|---|---|
 * | the path cannot be looked at, or is no socket | 500 | why |
 * | nothing | 404 | registration socket does not exist |
 * | nobody answers GetInfo | 500 | why |
 * | the answer names another driver | 500 | invalid driver name |
 * | else | 200 | ok |
 *
 * It says nothing about kubelet or the driver. Each request dials anew, and stops when its client is gone.
 */
import type { RegistrationClient } from '@csi-sidecars/csi';
import type { HttpHandler, HttpResponse, Logger } from '@csi-sidecars/runtime';
import { messages } from './messages.ts';
import type { SocketFiles } from './socket-files.ts';
import { type Platform, lookAtSocket, textOf } from './stale-socket.ts';

export interface HealthDeps {
  readonly files: SocketFiles;
  readonly log: Logger;
  readonly platform: Platform;
  /** As any client: a path that is not absolute is taken for a host name, as upstream does. */
  readonly connect: (address: string, signal: AbortSignal) => Promise<RegistrationClient>;
}

export interface HealthOptions {
  readonly path: string;
  readonly driverName: string;
  /** Of GetInfo. */
  readonly timeoutMs: number;
}

export function healthHandler(deps: HealthDeps, options: HealthOptions): HttpHandler {
  const { files, log, platform } = deps;
  const { path, driverName } = options;
  const failed = (error: unknown): HttpResponse => {
    log.error(error, messages.unhealthy);
    return { status: 500, body: textOf(error) };
  };
  return async ({ signal }) => {
    try {
      const found = await lookAtSocket(files, path, platform);
      if (found === undefined) {
        log.error(undefined, messages.unhealthySocketMissing);
        return { status: 404, body: messages.socketMissing };
      }
      if (!found.isSocket && platform === 'unix') return failed(new Error(messages.notASocket(path)));
      const name = await askName(deps, options, signal);
      if (name !== driverName) return failed(new Error(messages.otherDriver(name)));
    } catch (error) {
      return failed(error);
    }
    log.info(5, messages.healthy);
    return { status: 200, body: 'ok' };
  };
}

/** The name that is given behind the socket; rejects with what to tell. */
async function askName(
  { connect }: HealthDeps,
  { path, timeoutMs }: HealthOptions,
  signal: AbortSignal,
): Promise<string> {
  const client = await connect(path, signal).catch((cause: unknown) => {
    throw new Error(messages.selfConnectFailed(path, textOf(cause)), { cause });
  });
  try {
    return (await client.getInfo({ timeoutMs, signal })).name;
  } catch (cause) {
    throw new Error(messages.selfInfoFailed(textOf(cause)), { cause });
  } finally {
    client.close();
  }
}
