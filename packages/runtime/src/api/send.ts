// SPDX-License-Identifier: Apache-2.0
/**
 * One call: wait for the rate limiter, make an attempt, and make it again as the retry policy says. The only retry loop
 * there is. The deadline covers attempts and the pauses between them, not the time spent in the rate limiter.
 */
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../log/logger.ts';
import type { Priority } from './client.ts';
import { ApiError } from './errors.ts';
import { mayHaveHappened, noteOpenAttempt } from './may-have-happened.ts';
import { noAnswer, type RequestMetrics } from './request-metrics.ts';
import type { RequestLimiter } from './request-limiter.ts';
import { decideRetry, type FailedAttempt, type Use } from './retry-policy.ts';
import type { ThrottleLog } from './throttle-log.ts';
import type { Span } from '../tracing/tracer.ts';
import { abortError, TransportError, type TransportRequest } from './transport.ts';

export interface SendDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limiter: RequestLimiter;
  readonly logWait: ThrottleLog;
  readonly metrics: RequestMetrics | undefined;
}

export interface Call {
  readonly request: Omit<TransportRequest, 'signal'>;
  readonly use: Use;
  readonly priority: Priority;
  /** Time limit of all attempts and pauses together; Infinity for none. */
  readonly timeoutMs: number;
  /** For a stream with a deadline: how long its reader may have to wait for the head, or for the next chunk. */
  readonly silenceMs?: number;
  readonly signal?: AbortSignal | undefined;
  readonly maySend?: (() => boolean) | undefined;
  /** Learns of attempts and of the status of the answer. The caller ends it. */
  readonly span?: Span | undefined;
}

/** `status`: of the answer; undefined for a stream, which is read later. */
export type AttemptResult<T> = { readonly value: T; readonly status?: number } | FailedAttempt;

/** Makes one attempt that ends within `leftMs`. Never rejects. */
export type Attempt<T> = (call: Call, leftMs: number) => Promise<AttemptResult<T>>;

const notSent = 'not sent: its sender may write nothing any more';

export async function send<T>(deps: SendDeps, call: Call, attempt: Attempt<T>): Promise<T> {
  const { clock, logger, metrics } = deps;
  let leftMs = call.timeoutMs;
  let limited = call.use !== 'watch';
  let previous: Error | undefined;
  let mayHave = false;
  const failure = (error: Error): Error => {
    if (mayHave) noteOpenAttempt(error);
    return error;
  };
  for (let retries = 0; ; retries += 1) {
    const turn = limited ? deps.limiter.acquire(call) : undefined;
    if (turn !== undefined) await throttle(deps, call, turn);
    else if (limited) metrics?.limited({ method: call.request.method, ms: 0 });
    if (call.maySend?.() === false) throw failure(new TransportError('aborted', notSent));
    const startedMs = clock.monotonicMs();
    const result = await attempt(call, leftMs);
    if ('value' in result) {
      call.span?.set({ 'http.response.status_code': result.status });
      return result.value;
    }
    leftMs -= clock.monotonicMs() - startedMs;
    const decision = decideRetry(result, { use: call.use, retries });
    if (decision.kind === 'fail' || leftMs <= 0 || call.signal?.aborted === true) {
      throw failure(withPrevious(result.error, previous));
    }
    previous = result.error;
    mayHave ||= mayHaveHappened(result.error);
    const code = result.error instanceof ApiError ? String(result.error.status) : noAnswer;
    metrics?.retried({ method: call.request.method, code });
    call.span?.set({ 'http.request.resend_count': retries + 1 });
    limited = decision.limited;
    if (logger.enabled(4))
      logRetry(logger, call, { attempt: retries + 1, delayMs: decision.afterMs, error: result.error });
    await pause(deps.clock, call, Math.min(decision.afterMs, leftMs));
    leftMs -= decision.afterMs;
    // The server asks for a longer pause than the deadline allows, so its answer is the more useful error.
    if (leftMs <= 0) throw failure(result.error);
  }
}

async function throttle({ clock, logWait, metrics }: SendDeps, call: Call, turn: Promise<void>): Promise<void> {
  const startedMs = clock.monotonicMs();
  await turn;
  const ms = clock.monotonicMs() - startedMs;
  metrics?.limited({ method: call.request.method, ms });
  logWait(ms, call.request);
}

function logRetry(
  logger: Logger,
  { request: { method, path } }: Call,
  { error, ...facts }: { readonly attempt: number; readonly delayMs: number; readonly error: Error },
): void {
  if (error instanceof TransportError) {
    logger.info(4, 'Retrying after a broken exchange', {
      ...facts,
      method,
      path,
      failure: error.failure,
      error: error.message,
    });
  } else {
    logger.info(4, 'Got a Retry-After response', { ...facts, method, path });
  }
}

async function pause(clock: Clock, { signal }: Call, ms: number): Promise<void> {
  if (ms <= 0) return;
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    throw signal?.aborted === true ? abortError(signal) : error;
  }
}

function withPrevious(error: Error, previous: Error | undefined): Error {
  if (previous === undefined || previous.message === error.message || !(error instanceof TransportError)) return error;
  const message = `${error.message} - error from a previous attempt: ${previous.message}`;
  return new TransportError(error.failure, message, { cause: error });
}
