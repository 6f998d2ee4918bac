// SPDX-License-Identifier: Apache-2.0
/**
 * The Logger port on a line writer, in klog's text.
 * The level check comes first; a line that is not written costs a comparison.
 */
import type { Facts, Logger } from './logger.ts';
import { klogTextLine } from './klog-text.ts';
import type { LogEntry, LogOrigin } from './klog-text.ts';
import { presentable } from './presentable.ts';

export interface LoggerDeps {
  readonly nowMs: () => number;
  readonly write: (line: string) => void;
}

export interface LoggerOptions extends LogOrigin {
  /** Lines above this level are not written. */
  readonly verbosity: number;
}

export function createLogger(deps: LoggerDeps, options: LoggerOptions, always: Facts = {}): Logger {
  const emit = (entry: Omit<LogEntry, 'timeMs' | 'facts'>, facts: Facts | undefined): void =>
    deps.write(klogTextLine({ ...entry, facts: presentable({ ...always, ...facts }), timeMs: deps.nowMs() }, options));
  return {
    enabled: (level) => level <= options.verbosity,
    info(level, message, facts) {
      if (level > options.verbosity) return;
      emit({ severity: 'info', message }, facts);
    },
    warn(message, facts) {
      emit({ severity: 'warning', message }, facts);
    },
    error(error, message, facts) {
      emit({ severity: 'error', message, error }, facts);
    },
    with: (facts) => createLogger(deps, options, { ...always, ...facts }),
  };
}
