// SPDX-License-Identifier: Apache-2.0
/**
 * `/healthz` checks that the socket exists and that the server behind it reports our driver. First match wins:
 *
 * | Found | Status | Body |
 * |---|---|---|
 * | the path cannot be examined, or is not a socket | 500 | the reason |
 * | nothing | 404 | registration socket does not exist |
 * | no answer to GetInfo | 500 | the reason |
 * | the answer names another driver | 500 | invalid driver name |
 * | else | 200 | ok |
 *
 * It does not check kubelet or the driver. Each request dials again, and stops when its client disconnects.
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
  /** The address as any client reads it: a relative path is taken for a host name, as upstream does. */
  readonly connect: (address: string, signal: AbortSignal) => Promise<RegistrationClient>;
}

export interface HealthOptions {
  readonly path: string;
  readonly driverName: string;
  /** Time limit of GetInfo. */
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

/** The driver name that the server behind the socket reports; rejects with the text of the response. */
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
