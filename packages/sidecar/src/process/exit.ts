// SPDX-License-Identifier: Apache-2.0
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
