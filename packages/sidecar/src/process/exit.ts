// SPDX-License-Identifier: Apache-2.0
import { truncateSync, writeFileSync } from 'node:fs';
import type { ProcessHost } from './host.ts';

/**
 * Ends a run before its work ends. Exit codes are upstream's: 1 for what is logged as an error, 255 where upstream's program
 * calls its fatal logger, 2 for a command line it cannot read and for panics. Signals and defects are the runtime's.
 */
export const exitCodes = { success: 0, failure: 1, usage: 2, panic: 2, fatal: 255 } as const;

/**
 * What would have to change for the program to run: `commandLine`, the `driver`, or anything else (`undefined`), such as an API server
 * that answers.
 */
export type ExitReason = 'commandLine' | 'driver' | undefined;

export class ExitError extends Error {
  override readonly name = 'ExitError';
  readonly code: number;
  readonly reason: ExitReason;
  constructor(code: number, message: string, options?: ErrorOptions & { readonly reason?: ExitReason }) {
    super(message, options);
    this.code = code;
    this.reason = options?.reason;
  }
}

/** An error of the callback ends the run with this text, this code, and the error as the cause. */
export async function orExit<T>(what: string, work: () => Promise<T>, code: number = exitCodes.failure): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new ExitError(code, what, { cause: error });
  }
}

/** Replaces the content of an existing file; throws if there is none. The kubelet shows the content as the reason of the end. */
export function writeTerminationLog(path: string, text: string): void {
  // Writing alone would create the file.
  truncateSync(path);
  writeFileSync(path, text);
}

/** The last line of the log, for the status of the pod. Outside of a container there is no such file. */
export function leaveMessage(host: Pick<ProcessHost, 'writeTerminationLog'>, text: string): void {
  try {
    host.writeTerminationLog(text);
  } catch {
    // The log has it.
  }
}

export const lastWords = ({ message, cause }: Error): string =>
  cause instanceof Error ? `${message}: ${cause.message}` : message;
