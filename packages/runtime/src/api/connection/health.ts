// SPDX-License-Identifier: Apache-2.0
/**
 * Checks whether the peer of an HTTP/2 connection still responds. If nothing arrives for `readIdleMs`, a PING is sent; if no
 * answer arrives within `pingTimeoutMs`, the connection counts as lost. TCP keep-alive alone is not enough: while data is
 * unacknowledged, the kernel retransmits it for many minutes.
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
  /** The monotonic time of the last received data, or of the start of the connection. */
  heardMs(): number;
  /**
   * Sends a PING now instead of after the idle time, because an answer is overdue, and calls back when the peer answers. If a
   * PING is in flight, its time counts from when it was sent. Does nothing if the check is off.
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
  // One timer checks the time when it fires. To move a timer with every chunk would cost more.
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
      patience = undefined;
    },
  };
}
