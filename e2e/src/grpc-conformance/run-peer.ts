// SPDX-License-Identifier: Apache-2.0
/** Runs a program of the suite to its end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Rejects with what the program wrote to its standard error when it fails. */
export async function runToEnd(command: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], signal });
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(text.trim() || `exit code ${code}`);
}
