// SPDX-License-Identifier: Apache-2.0
import type { ProcessPort } from '@csi-sidecars/runtime';

/** The process as a port: what a sidecar needs of the operating system around it, so that a whole program can be tested. */
export interface Host {
  /** How the program was called, for `--version` and usage. */
  readonly programPath: string;
  /** Arguments without interpreter and program. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hostName: string;
  readonly pid: number;
  /** Milliseconds since the Unix epoch. */
  readonly startTimeMs: number;
  writeStdout(text: string): void;
  /** Usage texts and the like; log lines go through the log sink. */
  writeStderr(text: string): void;
  /** The content of a small file, or undefined when it cannot be read. */
  readText(path: string): string | undefined;
  /** Throws when it cannot be written. */
  writeTerminationLog(text: string): void;
  /** Signals, crashes and the exit. */
  readonly process: ProcessPort;
}
