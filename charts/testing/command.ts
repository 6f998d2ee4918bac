// SPDX-License-Identifier: Apache-2.0
/** Runs a program and collects what it writes. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly input?: string;
  /** Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv;
}

/** Resolves whatever the exit code is. Rejects if the program cannot be started. */
export async function runCommand(
  program: string,
  args: readonly string[],
  { input = '', env = process.env }: CommandOptions = {},
): Promise<Outcome> {
  const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  // It may end before it has read its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code: code ?? 128, stdout, stderr };
}
