// SPDX-License-Identifier: Apache-2.0
import type { Facts, Logger } from '../src/log/logger.ts';

export type LogLine =
  | { readonly kind: 'info'; readonly level: number; readonly message: string; readonly facts: Facts }
  | { readonly kind: 'warn'; readonly message: string; readonly facts: Facts }
  | { readonly kind: 'error'; readonly message: string; readonly facts: Facts; readonly error: unknown };

export interface RecordingLogger extends Logger {
  /** Everything logged so far, oldest first, through this logger and those derived from it. */
  readonly lines: readonly LogLine[];
  /** The messages only. */
  messages(): readonly string[];
}

/** A logger that keeps its lines. Levels above `verbosity` are dropped; all are kept by default. */
export function recordingLogger(
  options: { readonly verbosity?: number; readonly onLine?: (line: LogLine) => void } = {},
): RecordingLogger {
  const { verbosity = Infinity, onLine } = options;
  const lines: LogLine[] = [];
  const keep = (line: LogLine): void => {
    lines.push(line);
    onLine?.(line);
  };
  const bound = (own: Facts): Logger => ({
    enabled: (level) => level <= verbosity,
    info: (level, message, facts) => {
      if (level <= verbosity) keep({ kind: 'info', level, message, facts: { ...own, ...facts } });
    },
    warn: (message, facts) => {
      keep({ kind: 'warn', message, facts: { ...own, ...facts } });
    },
    error: (error, message, facts) => {
      keep({ kind: 'error', message, facts: { ...own, ...facts }, error });
    },
    with: (facts) => bound({ ...own, ...facts }),
  });
  return { ...bound({}), lines, messages: () => lines.map((line) => line.message) };
}
