// SPDX-License-Identifier: Apache-2.0
/**
 * The client-side rate limit: a token bucket of `burst` tokens, refilled continuously at `qps`. Waiters are served in the
 * order they came; one that gives up leaves its place to those behind it.
 *
 * Requests of low priority (events) leave half of the burst to the others and wait while others wait, so that a write finds a
 * token during a storm of events. Every tenth token is reserved for low priority, so that a client that is throttled for hours
 * still records events.
 *
 * Not here: deadlines of requests (they begin when the wait is over) and logging of waits.
 */
import type { Clock, Timer } from '../clock/clock.ts';
import { deadlineOf } from '../clock/deadline.ts';
import type { Priority } from './client.ts';
import { abortError, TransportError } from './transport.ts';

export interface RateLimit {
  /** Requests per second; 0 means the default of 5, a negative number no limit. */
  readonly qps: number;
  readonly burst: number;
}

export interface Ticket {
  readonly priority: Priority;
  readonly signal?: AbortSignal | undefined;
}

export interface RequestLimiter {
  /**
   * Returns undefined if the request may be sent at once, else a promise that resolves when it may. Throws or rejects with a
   * TransportError when the ticket's signal aborts, or will certainly do so before its turn.
   */
  acquire(ticket: Ticket): Promise<void> | undefined;
}

/** While both kinds wait, one of ten tokens goes to low priority. */
const normalInARow = 9;
/** Sums of refills miss whole tokens by rounding. */
const wholeToken = 1 - 1e-9;

interface Waiter {
  readonly go: () => void;
}

export function createRequestLimiter(clock: Clock, limit: RateLimit): RequestLimiter {
  if (limit.qps > 0 && limit.burst <= 0) {
    throw new Error(
      'burst is required to be greater than 0 when RateLimiter is not set and QPS is set to greater than 0',
    );
  }
  if (limit.qps < 0) return { acquire: () => undefined };
  const perMs = (limit.qps === 0 ? 5 : limit.qps) / 1000;
  const size = limit.burst <= 0 ? 10 : limit.burst;
  const reserved = Math.floor(size / 2);

  const waiting: Readonly<Record<Priority, Waiter[]>> = { normal: [], low: [] };
  let tokens = size;
  let refilledMs = clock.monotonicMs();
  let servedNormal = 0;
  let alarm: Timer | undefined;

  const refill = (): void => {
    const nowMs = clock.monotonicMs();
    tokens = Math.min(size, tokens + (nowMs - refilledMs) * perMs);
    refilledMs = nowMs;
  };
  const someoneWaits = (): boolean => waiting.normal.length + waiting.low.length > 0;
  const lowIsDue = (): boolean => waiting.low.length > 0 && servedNormal >= normalInARow;
  /** The next waiter, and the number of tokens that it needs. */
  const turn = (): { readonly of: Priority; readonly needs: number } => {
    if (waiting.normal.length === 0) return { of: 'low', needs: wholeToken + reserved };
    return { of: lowIsDue() ? 'low' : 'normal', needs: wholeToken };
  };
  const mayLeaveAtOnce = (priority: Priority): boolean =>
    priority === 'low'
      ? !someoneWaits() && tokens >= wholeToken + reserved
      : waiting.normal.length === 0 && !lowIsDue() && tokens >= wholeToken;
  const take = (priority: Priority): void => {
    tokens -= 1;
    servedNormal = priority === 'low' ? 0 : servedNormal + 1;
  };
  const serve = (): void => {
    alarm?.cancel();
    alarm = undefined;
    refill();
    while (someoneWaits()) {
      const next = turn();
      if (tokens < next.needs) {
        alarm = clock.timer(wholeMs((next.needs - tokens) / perMs), serve);
        return;
      }
      take(next.of);
      waiting[next.of].shift()?.go();
    }
  };
  const waitMs = (priority: Priority): number => {
    const ahead = waiting.normal.length + (priority === 'low' ? waiting.low.length + reserved : 0);
    return Math.max(0, (ahead + 1 - tokens) / perMs);
  };
  const queue = (ticket: Ticket): Promise<void> =>
    new Promise((resolve, reject) => {
      const { priority, signal } = ticket;
      const line = waiting[priority];
      const onAbort = (): void => {
        line.splice(line.indexOf(waiter), 1);
        serve();
        reject(cancelled(signal as AbortSignal));
      };
      const waiter: Waiter = {
        go: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      line.push(waiter);
      serve();
    });

  return {
    acquire: (ticket) => {
      if (ticket.signal?.aborted === true) throw cancelled(ticket.signal);
      refill();
      if (mayLeaveAtOnce(ticket.priority)) {
        take(ticket.priority);
        return undefined;
      }
      const deadlineMs = deadlineOf(ticket.signal) ?? Infinity;
      if (clock.monotonicMs() + waitMs(ticket.priority) > deadlineMs) throw tooLate();
      return queue(ticket);
    },
  };
}

/** A timer of a fraction too small to move the clock would fire for ever. */
function wholeMs(ms: number): number {
  return Math.max(1, Math.ceil(ms - 1e-6));
}

const prefix = 'client rate limiter Wait returned an error:';

function cancelled(signal: AbortSignal): TransportError {
  const { failure } = abortError(signal);
  const what = failure === 'timeout' ? 'context deadline exceeded' : 'context canceled';
  return new TransportError(failure, `${prefix} ${what}`, { cause: signal.reason });
}

function tooLate(): TransportError {
  return new TransportError('timeout', `${prefix} rate: Wait(n=1) would exceed context deadline`);
}
