// SPDX-License-Identifier: Apache-2.0
/**
 * The log of a process: a line writer that never makes the process wait, and a logger on it. The format can be set later,
 * because a program must be able to log before it has read which format its user wants.
 */
import type { Clock } from '../clock/clock.ts';
import { createLogger } from './create-logger.ts';
import { klogTextLine, type LogEntry, type LogOrigin } from './klog-text.ts';
import type { LineWriter } from './line-writer.ts';
import { createLogTime } from './log-time.ts';
import type { Logger } from './logger.ts';

export interface OpenLogDeps {
  readonly clock: Clock;
  /** The notice is the line that reports dropped lines. */
  readonly openStderr: (dropNotice: (count: number) => string) => LineWriter;
}

export interface OpenLogOptions extends LogOrigin {
  /** Lines above this level are not written. */
  readonly verbosity: number;
}

export interface OpenLog {
  readonly log: Logger;
  readonly writer: LineWriter;
  /** From the next line on. */
  readonly setFormat: (format: LogFormat) => void;
}

export type LogFormat = (entry: LogEntry, origin: LogOrigin) => string;

export function openLog({ clock, openStderr }: OpenLogDeps, options: OpenLogOptions): OpenLog {
  let format: LogFormat = klogTextLine;
  const nowMs = createLogTime(clock);
  const writer = openStderr((count) =>
    format(
      {
        severity: 'warning',
        level: 0,
        message: 'Log lines were dropped because the reader was too slow',
        error: undefined,
        facts: { count },
        timeMs: nowMs(),
      },
      options,
    ),
  );
  const log = createLogger(
    { nowMs, write: (line) => writer.write(line) },
    { ...options, format: (entry) => format(entry, options) },
  );
  const setFormat = (chosen: LogFormat): void => {
    format = chosen;
  };
  return { log, writer, setFormat };
}
