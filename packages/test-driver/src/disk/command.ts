// SPDX-License-Identifier: Apache-2.0
/** Runs programs of the system without a shell. A failure contains the program's output. */
import { execFile } from 'node:child_process';

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** Exit codes that do not count as failures. */
  readonly accept?: readonly number[];
}

/** Resolves with the standard output, without the last line break. */
export async function run({ program, args, accept = [] }: Command): Promise<string> {
  return await new Promise((resolve, reject) => {
    execFile(program, args, { maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
      const code = error?.code;
      if (error === null || (typeof code === 'number' && accept.includes(code))) resolve(stdout.trimEnd());
      else reject(new Error(`${program} ${args.join(' ')}: ${stderr.trim() || error.message}`, { cause: error }));
    });
  });
}
