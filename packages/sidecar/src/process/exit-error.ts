// SPDX-License-Identifier: Apache-2.0

/** Ends the program with this exit code; the message is the last line that is logged. */
export class ExitError extends Error {
  override readonly name = 'ExitError';
  readonly code: number;
  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Runs a step of the start-up; what it throws ends the program with this code and says which step it was. */
export async function orExit<T>(code: number, step: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof ExitError) throw cause;
    throw new ExitError(code, `${step}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
