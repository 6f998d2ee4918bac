// SPDX-License-Identifier: Apache-2.0
/**
 * A request for `/healthz` opens one connection and sends one Probe, within one time limit. First match wins:
 *
 * | Outcome | Status | Body |
 * |---|---|---|
 * | the time limit is zero or less, or no connection within it | 500 | context deadline exceeded |
 * | the client disconnected | no response | |
 * | Probe failed, or took longer than the remaining time | 500 | rpc error: code = ... desc = ... |
 * | ready is false | 500 | driver responded but is not ready |
 * | ready is true or absent | 200 | ok |
 *
 * No connection is kept for the next check: a driver whose socket is gone or replaced would be reported as healthy. Requests that wait at the
 * same time share one check (the runtime's `sharedHandler`).
 */
import { ConnectError, CsiError, type CsiChannel, probe } from '@csi-sidecars/csi';
import type { Clock, HttpHandler, HttpResponse, Logger } from '@csi-sidecars/runtime';
import { messages } from './messages.ts';

export interface HealthCheckDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Opens a connection. Rejects if there is none within the limit, or when the signal aborts. */
  readonly connect: (limits: {
    readonly connectTimeoutMs: number;
    readonly signal: AbortSignal;
  }) => Promise<CsiChannel>;
}

export interface HealthCheckOptions {
  readonly driverName: string;
  readonly budgetMs: number;
}

export function healthCheck(deps: HealthCheckDeps, { driverName, budgetMs }: HealthCheckOptions): HttpHandler {
  const { clock, log, connect } = deps;
  const failed = (error: unknown, message: string): HttpResponse => {
    log.error(error, message);
    return { status: 500, body: bodyOf(error) };
  };
  return async ({ signal }) => {
    const startedMs = clock.monotonicMs();
    // Zero or less means no time at all, as upstream; connecting would treat it as no limit.
    if (budgetMs <= 0) return failed(new ConnectError('deadlineExceeded', ''), messages.connectFailed);
    let channel: CsiChannel;
    try {
      channel = await connect({ connectTimeoutMs: budgetMs, signal });
    } catch (error) {
      return failed(error, messages.connectFailed);
    }
    try {
      log.info(5, messages.probing, { driver: driverName });
      const timeoutMs = Math.max(budgetMs - (clock.monotonicMs() - startedMs), 0);
      if (!(await probe(channel, { timeoutMs, signal }))) {
        log.error(undefined, messages.notReady);
        return { status: 500, body: messages.notReadyBody };
      }
    } catch (error) {
      if (!(error instanceof CsiError)) throw error;
      return failed(error, messages.unhealthy);
    } finally {
      channel.close();
    }
    log.info(5, messages.healthy);
    return { status: 200, body: 'ok' };
  };
}

/** The failure of the last attempt is only logged: the body is upstream's. */
function bodyOf(error: unknown): string {
  if (error instanceof ConnectError) return error.contextText;
  return error instanceof Error ? error.message : String(error);
}
