// SPDX-License-Identifier: Apache-2.0
/** The exit codes of explain, doctor and audit: one family. Signals end with 130 and 143, as everywhere. */
import type { Because } from '../cluster/reader.ts';
import type { VerdictExit } from '../verdict.ts';

export const exits = {
  /** Nothing is awaited, or nothing was found. */
  nothing: 0,
  /** The command itself failed. */
  failed: 1,
  usage: 2,
  /** A program works or waits. */
  waiting: 3,
  /** A person is needed. */
  person: 4,
  /** What could not be read decides. */
  unknown: 5,
  /** There is no such object or driver. */
  absent: 6,
} as const;

/** `--exit-zero`: for dashboards, which look at the output. */
export function exitCodeOf(exit: VerdictExit, isZero: boolean): number {
  return isZero && (exit === 3 || exit === 4 || exit === 5) ? exits.nothing : exit;
}

/** Ends a command with one line on stderr. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly code: number;
  /** Set if the subject could not be read. While a command watches, it tries again. */
  readonly unreadable: Because | undefined;
  constructor(code: number, message: string, options?: ErrorOptions & { readonly unreadable?: Because }) {
    super(message, options);
    this.code = code;
    this.unreadable = options?.unreadable;
  }
}
