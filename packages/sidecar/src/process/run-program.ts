// SPDX-License-Identifier: Apache-2.0
/** Any program, from its first argument to its exit code: flags and log, then its own work. */
import type { ProgramFlags } from '../programs/manifest.ts';
import { ExitError, lastWords, leaveMessage } from './exit.ts';
import type { ProcessDeps } from './run-in-process.ts';
import { type StartOptions, type StartValues, type Started, start } from './start.ts';

export interface ProgramOptions<V extends StartValues, G extends string> {
  readonly program: ProgramFlags<V, G>;
  readonly start?: StartOptions | undefined;
}

/** Resolves with the exit code. An ExitError of the work becomes its exit code and one line in the log. */
export async function runProgram<V extends StartValues, G extends string>(
  { host, lifecycle }: ProcessDeps,
  { program, start: options }: ProgramOptions<V, G>,
  work: (started: Started<V, G>) => Promise<number>,
): Promise<number> {
  const started = await start(host, program, options);
  const { stderr } = started;
  if (started.kind === 'ended') {
    await stderr.flush();
    return started.code;
  }
  const { log } = started;
  lifecycle.configure({ logger: log, flushLogs: stderr.flush });
  try {
    return await work(started);
  } catch (error) {
    if (!(error instanceof ExitError)) throw error;
    log.error(error.cause, error.message);
    leaveMessage(host, lastWords(error));
    return error.code;
  }
}
