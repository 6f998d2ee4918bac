// SPDX-License-Identifier: Apache-2.0
/**
 * One request on `/healthz` is one connection and one Probe, under one budget. First match wins:
 *
 * | Outcome | Status | Body |
 * |---|---|---|
 * | the budget is zero or less, or not connected within it | 500 | context deadline exceeded |
 * | the client went away | nobody reads it | |
 * | Probe failed, or took longer than what was left | 500 | rpc error: code = ... desc = ... |
 * | ready is false | 500 | driver responded but is not ready |
 * | ready is true or absent | 200 | ok |
 *
 * Requests share nothing. A connection that is kept would call a driver healthy whose socket is gone or is another's.
 */
import { ConnectError, CsiError, type CsiChannel, probe } from '@csi-sidecars/csi';
import type { Clock, HttpHandler, HttpResponse, Logger } from '@csi-sidecars/runtime';
import { messages } from './messages.ts';

export interface HealthCheckDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** A new connection. Rejects when there is none after the limit, or the signal aborts. */
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
    // No budget is no time, as upstream; connecting would take it for no limit.
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

/** What the last attempt met is in the log only: the body is upstream's. */
function bodyOf(error: unknown): string {
  if (error instanceof ConnectError) return error.contextText;
  return error instanceof Error ? error.message : String(error);
}
