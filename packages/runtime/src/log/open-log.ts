// SPDX-License-Identifier: Apache-2.0
/**
 * The log of a process: a line writer that never makes the process wait, and a logger on it, in klog's text. Another logger can take
 * its place later, because a program must be able to log before it has read which format its user wants.
 */
import type { Clock } from '../clock/clock.ts';
import { createLogger, type LoggerDeps, type LoggerOptions } from './create-logger.ts';
import type { LineWriter } from './line-writer.ts';
import type { Logger } from './logger.ts';

export interface OpenLogDeps {
  readonly clock: Clock;
  /** The notice is the line that reports dropped lines. */
  readonly openStderr: (dropNotice: (count: number) => string) => LineWriter;
}

export interface OpenLog {
  readonly log: Logger;
  readonly writer: LineWriter;
  /** Makes another logger on the same writer. The notice about dropped lines is in its format from then on. */
  readonly replace: (make: MakeLogger) => Logger;
}

export type MakeLogger = (deps: LoggerDeps) => Logger;

export function openLog({ clock, openStderr }: OpenLogDeps, options: LoggerOptions): OpenLog {
  let current: MakeLogger = (deps) => createLogger(deps, options);
  const nowMs = createLogTime(clock);
  const writer = openStderr((count) => {
    let notice = '';
    const log = current({ nowMs, write: (line) => void (notice = line) });
    log.warn('Log lines were dropped because the reader was too slow', { count });
    return notice;
  });
  const write = (line: string): void => writer.write(line);
  return {
    log: current({ nowMs, write }),
    writer,
    replace: (make) => {
      current = make;
      return make({ nowMs, write });
    },
  };
}

/**
 * The wall clock for log lines, with the microseconds that klog writes and `nowMs` does not have: within a millisecond the
 * monotonic clock goes on. Never off by a millisecond or more; a wall clock that is set is followed at once.
 */
export function createLogTime(clock: Pick<Clock, 'nowMs' | 'monotonicMs'>): () => number {
  let offsetMs = clock.nowMs() - clock.monotonicMs();
  return () => {
    const wallMs = clock.nowMs();
    const preciseMs = clock.monotonicMs() + offsetMs;
    if (preciseMs >= wallMs && preciseMs < wallMs + 1) return preciseMs;
    offsetMs = wallMs - clock.monotonicMs();
    return wallMs;
  };
}
