// SPDX-License-Identifier: Apache-2.0
/**
 * Whether the peer of an HTTP/2 connection is still there. When nothing has arrived for `readIdleMs` it is asked by PING;
 * when no answer comes within `pingTimeoutMs` it is lost. Kernel keep-alive alone would not do: once unacknowledged data
 * is outstanding it retransmits for many minutes instead.
 */
import type { Clock, Timer } from '../../clock/clock.ts';
import type { Logger } from '../../log/logger.ts';
import type { Environment } from './proxy.ts';

export interface HealthOptions {
  /** 0 turns the check off. */
  readonly readIdleMs: number;
  readonly pingTimeoutMs: number;
}

/** The variables that client-go reads, with its defaults. */
export function healthFromEnvironment(env: Environment, logger: Logger): HealthOptions {
  const seconds = (name: string, otherwise: number): number => {
    const text = env[name] ?? '';
    if (text === '') return otherwise;
    if (/^\d{1,6}$/.test(text)) return Number(text);
    logger.warn('Illegal value of an environment variable, using the default', {
      name,
      value: text,
      default: otherwise,
    });
    return otherwise;
  };
  return {
    readIdleMs: seconds('HTTP2_READ_IDLE_TIMEOUT_SECONDS', 30) * 1000,
    pingTimeoutMs: seconds('HTTP2_PING_TIMEOUT_SECONDS', 15) * 1000,
  };
}

export interface HealthCheck extends Disposable {
  /** Something has arrived. */
  heard(): void;
  /** When something arrived last, or the connection began, on the monotonic clock. */
  heardMs(): number;
  /**
   * Asks now instead of after the idle time, because an answer is overdue, and calls back when the peer answers. A question
   * that is on its way already counts from when it was sent. Does nothing when the check is off.
   */
  askNow(answered: () => void): void;
}

export interface Peer {
  /** Sends a PING and calls back when it is answered. */
  readonly ping: (answered: () => void) => void;
  readonly lost: () => void;
}

export function checkHealth(clock: Clock, { readIdleMs, pingTimeoutMs }: HealthOptions, peer: Peer): HealthCheck {
  let heardMs = clock.monotonicMs();
  let alarm: Timer | undefined;
  let patience: Timer | undefined;
  let ended = false;
  let awaiting: (() => void)[] = [];
  const heard = (): void => {
    heardMs = clock.monotonicMs();
  };
  // One timer that looks when it fires, rather than one that is moved with every chunk.
  const lookAfter = (ms: number): void => {
    alarm = clock.timer(ms, () => {
      const silentMs = clock.monotonicMs() - heardMs;
      if (silentMs < readIdleMs) lookAfter(readIdleMs - silentMs);
      else ask();
    });
  };
  const ask = (): void => {
    const asked = clock.timer(pingTimeoutMs, peer.lost);
    patience = asked;
    alarm = asked;
    peer.ping(() => {
      if (patience !== asked) return;
      asked.cancel();
      patience = undefined;
      heard();
      lookAfter(readIdleMs);
      const callbacks = awaiting;
      awaiting = [];
      for (const answered of callbacks) answered();
    });
  };
  if (readIdleMs > 0) lookAfter(readIdleMs);
  return {
    heard,
    heardMs: () => heardMs,
    askNow: (answered) => {
      if (readIdleMs === 0 || ended) return;
      awaiting.push(answered);
      if (patience !== undefined) return;
      alarm?.cancel();
      ask();
    },
    [Symbol.dispose]: () => {
      ended = true;
      alarm?.cancel();
      alarm = undefined;
      patience = undefined;
      awaiting = [];
    },
  };
}
