// SPDX-License-Identifier: Apache-2.0
/**
 * Turns a dialler into the channel that all other code uses: connection, limits, log and metrics of calls in one
 * place. It retries connecting, never a call: whether a call may be repeated is for its caller to know.
 */
import type { Clock, Logger } from '@csi-sidecars/runtime';
import type { CallMetrics } from '../metrics/call-metrics.ts';
import type { Sanitizer } from '../sanitizer/sanitizer.ts';
import type { ResponseOf } from '../methods.ts';
import { parseAddress } from './address.ts';
import { type CallLog, callLog } from './call-log.ts';
import { endCallSpan, startCallSpan } from './call-span.ts';
import type { CsiChannel } from './channel.ts';
import { type LossPolicy, openConnection } from './connection.ts';
import type { Dial } from './dial.ts';

export interface ConnectCsiDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Absent: calls are not measured. */
  readonly metrics?: Pick<CallMetrics, 'record'> | undefined;
}

export interface ConnectCsiOptions {
  /** In the syntax of `--csi-address`. */
  readonly address: string;
  /** Time limit of connecting, 30 s by default; zero or less waits for ever. It does not limit calls. */
  readonly connectTimeoutMs?: number;
  /**
   * What happens when the driver is lost. `reconnect` (default): the next call connects again. `end`: the channel's `lost` aborts and every
   * call fails with Unavailable. `end` needs an absolute path or a unix:// address.
   */
  readonly lossPolicy?: LossPolicy;
  /** Longest response in the log, in bytes. By default, and for zero or less, responses are logged in full. */
  readonly maxLoggedResponseBytes?: number;
  /** Ends connecting. */
  readonly signal?: AbortSignal;
}

const nameMethod = '/csi.v1.Identity/GetPluginInfo';
const defaultConnectTimeoutMs = 30_000;

/** How calls are sent, and what is known about their messages. */
export interface Protocol {
  readonly dial: Dial;
  readonly sanitizer: Sanitizer;
}

/** A channel whose calls are logged by its user. */
export interface CsiConnection extends CsiChannel {
  /** The same connection for another user. */
  readonly loggedBy: (log: Logger, limits?: Pick<ConnectCsiOptions, 'maxLoggedResponseBytes'>) => CsiChannel;
}

/** Rejects with a ConnectError, or for an address that cannot work. */
export async function connectThrough(
  { dial, sanitizer }: Protocol,
  deps: ConnectCsiDeps,
  options: ConnectCsiOptions,
): Promise<CsiConnection> {
  const { clock, log, metrics } = deps;
  const { connectTimeoutMs = defaultConnectTimeoutMs, lossPolicy = 'reconnect', signal } = options;
  const connection = await openConnection(
    { clock, log, dial },
    { address: parseAddress(options.address), connectTimeoutMs, lossPolicy, signal },
  );
  /** Learned from the driver's own answer. */
  let driverName: string | undefined;
  const loggedBy: CsiConnection['loggedBy'] = (user, { maxLoggedResponseBytes = 0 } = {}) => ({
    call: callsWith(callLog({ log: user, sanitizer }, maxLoggedResponseBytes)),
    lost: connection.lost,
    close: connection.close,
  });
  return { ...loggedBy(log, options), loggedBy };

  function callsWith(lines: CallLog): CsiChannel['call'] {
    return async (method, request, callOptions) => {
      lines.called(method, request);
      const startedMs = clock.monotonicMs();
      const { span: parent } = callOptions;
      const span = parent && startCallSpan(parent, { method, request, driverName, timeoutMs: callOptions.timeoutMs });
      const traceparent = parent && (span ?? parent).traceparent;
      const outcome = await connection.exchange(
        method,
        request,
        traceparent === undefined ? callOptions : { ...callOptions, traceparent },
      );
      if (span !== undefined) endCallSpan(span, outcome);
      metrics?.record({
        method,
        code: outcome.kind === 'failed' ? outcome.error.code : 'OK',
        seconds: (clock.monotonicMs() - startedMs) / 1000,
        migrated: callOptions.migrated,
      });
      lines.ended(method, outcome);
      if (outcome.kind === 'failed') throw outcome.error;
      if (method === nameMethod) driverName = (outcome.response as ResponseOf<typeof nameMethod>).name;
      return outcome.response;
    };
  }
}
