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
import type { HttpHandler, HttpResponse, Logger } from '@csi-sidecars/runtime';
import { messages } from './messages.ts';
import type { SocketFiles } from './socket-files.ts';
import { type Platform, lookAtSocket } from './stale-socket.ts';

export interface HealthDeps {
  readonly files: SocketFiles;
  readonly log: Logger;
  readonly platform: Platform;
  /** The name that is given behind a socket; rejects in the words of the answer. */
  readonly askName: (path: string, signal: AbortSignal) => Promise<string>;
}

export function healthHandler(deps: HealthDeps, path: string, driverName: string): HttpHandler {
  const { files, log, platform, askName } = deps;
  const failed = (error: unknown): HttpResponse => {
    log.error(error, messages.unhealthy);
    return { status: 500, body: error instanceof Error ? error.message : String(error) };
  };
  return async ({ signal }) => {
    try {
      const found = await lookAtSocket(files, path, platform);
      if (found === undefined) {
        log.error(undefined, messages.unhealthySocketMissing);
        return { status: 404, body: messages.socketMissing };
      }
      if (!found.isSocket && platform === 'unix') return failed(new Error(messages.notASocket(path)));
      const name = await askName(path, signal);
      if (name !== driverName) return failed(new Error(messages.otherDriver(name)));
    } catch (error) {
      return failed(error);
    }
    log.info(5, messages.healthy);
    return { status: 200, body: 'ok' };
  };
}
