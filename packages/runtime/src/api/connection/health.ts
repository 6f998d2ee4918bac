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
}

export interface Peer {
  /** Sends a PING and calls back when it is answered. */
  readonly ping: (answered: () => void) => void;
  readonly lost: () => void;
}

export function checkHealth(clock: Clock, { readIdleMs, pingTimeoutMs }: HealthOptions, peer: Peer): HealthCheck {
  let heardMs = clock.monotonicMs();
  let alarm: Timer | undefined;
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
    const patience = clock.timer(pingTimeoutMs, peer.lost);
    alarm = patience;
    peer.ping(() => {
      if (alarm !== patience) return;
      patience.cancel();
      heard();
      lookAfter(readIdleMs);
    });
  };
  if (readIdleMs > 0) lookAfter(readIdleMs);
  return {
    heard,
    [Symbol.dispose]: () => {
      alarm?.cancel();
      alarm = undefined;
    },
  };
}
