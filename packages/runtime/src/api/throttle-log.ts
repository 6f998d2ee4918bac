// SPDX-License-Identifier: Apache-2.0
/** Logs that a request had to wait for the client's own rate limit, without flooding the log when all requests wait. */
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../log/logger.ts';
import type { TransportRequest } from './transport.ts';

const longWaitMs = 50;
const extraLongWaitMs = 1000;
/**
 * Very long waits are also logged at a lower level: at level 2 once a second or, if that is off, at level 0 once in ten
 * seconds.
 */
const loudLevels: readonly { readonly level: number; readonly everyMs: number }[] = [
  { level: 2, everyMs: 1000 },
  { level: 0, everyMs: 10_000 },
];

export type ThrottleLog = (waitedMs: number, request: Pick<TransportRequest, 'method' | 'path'>) => void;

export function throttleLog(clock: Clock, logger: Logger): ThrottleLog {
  let lastLoudMs = -Infinity;
  return (waitedMs, request) => {
    if (waitedMs <= longWaitMs) return;
    const say = (level: number): void =>
      logger.info(level, 'Waited before sending request', {
        delayMs: Math.round(waitedMs),
        reason: 'client-side throttling, not priority and fairness',
        verb: request.method,
        path: request.path,
      });
    if (logger.enabled(3)) say(3);
    if (waitedMs <= extraLongWaitMs) return;
    const loud = loudLevels.find(({ level }) => logger.enabled(level));
    if (loud === undefined || clock.monotonicMs() - lastLoudMs < loud.everyMs) return;
    lastLoudMs = clock.monotonicMs();
    say(loud.level);
  };
}
