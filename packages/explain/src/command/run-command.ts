// SPDX-License-Identifier: Apache-2.0
/** What the commands of this package share: how they begin, how they report what failed, and how their documents are written. */
import { toError } from '@csi-sidecars/runtime';
import { type ProgramDeps, type ProgramFlags, runProgram, type Started } from '@csi-sidecars/sidecar';
import type { ClusterValues } from './cluster-flags.ts';
import { CommandError, exits } from './exit-codes.ts';
import { forScreen } from './printable.ts';

export interface CommandValues extends ClusterValues {
  readonly output: string;
}

export interface Command<V extends CommandValues> {
  readonly program: ProgramFlags<V>;
  /** The document that is printed in place of the result. */
  readonly failure: (message: string, exitCode: number) => object;
  readonly run: (started: Started<V, never>) => Promise<number>;
}

/** Resolves with the exit code. A failure is one line on stderr, and a document on stdout where documents were asked for. */
export function runCommand<V extends CommandValues>(
  { host, lifecycle }: ProgramDeps,
  { program, failure, run }: Command<V>,
): Promise<number> {
  const start = { order: ['version', 'gates'], versionLine: 'omitted', positionals: 'used' } as const;
  return runProgram({ host, lifecycle }, { program, start }, async (started) => {
    const { values, stderr } = started;
    try {
      return await run(started);
    } catch (error) {
      const code = error instanceof CommandError ? error.code : exits.failed;
      const message = forScreen(toError(error).message, 2_000);
      if (code !== exits.usage && (values.output === 'json' || values.output === 'yaml'))
        host.stdout(await formatted(failure(message, code), values.output));
      stderr.write(`error: ${message}\n`);
      await stderr.flush();
      return code;
    }
  });
}

export async function formatted(document: object, output: 'json' | 'yaml'): Promise<string> {
  if (output === 'json') return `${JSON.stringify(document, undefined, 2)}\n`;
  const { dump } = await import('js-yaml');
  return dump(document);
}

/** On a terminal, unless its user wants no colours. */
export function isColoured(columns: number | undefined, env: ProgramDeps['host']['env']): boolean {
  return columns !== undefined && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}
