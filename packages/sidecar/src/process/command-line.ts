// SPDX-License-Identifier: Apache-2.0
/** From arguments to settings: what ends the program here, ends it as upstream does (usage and exit code 2, help and 0). */
import { basename } from 'node:path';
import type { GateSettings } from '../flags/flag.ts';
import { resolveGates } from '../flags/gates.ts';
import { parseFlags } from '../flags/parse.ts';
import { usageText } from '../flags/usage.ts';
import type { ProgramFlags } from '../programs/program.ts';
import { ExitError } from './exit-error.ts';
import type { Host } from './host.ts';

export interface CommandLine<V, G extends string> {
  readonly values: V;
  /** Flags that were given, whatever their value. */
  readonly given: ReadonlySet<string>;
  readonly gates: Readonly<Record<G, boolean>>;
  readonly givenGates: ReadonlySet<string>;
}

/** The parsed values, or undefined when the program has answered (help, wrong usage) and only the exit code is left. */
export async function readFlags<V extends object, G extends string>(
  program: ProgramFlags<V, G>,
  host: Host,
): Promise<Pick<CommandLine<V, G>, 'values' | 'given'> | { readonly exitCode: number }> {
  const result = parseFlags(program.flags, program.syntax, host.args);
  if (result.kind === 'parsed') return result;
  host.writeStderr(`${await usageText(basename(host.programPath), program.flags)}\n`);
  if (result.kind === 'help') return { exitCode: 0 };
  host.writeStderr(`${result.message}\n`); // last, because kubelet shows the last lines of a container that failed
  return { exitCode: 2 };
}

/** Throws an ExitError with this code for a gate that does not exist. */
export function readGates<V extends object, G extends string>(
  program: ProgramFlags<V, G>,
  settings: GateSettings,
  code: number,
): Pick<CommandLine<V, G>, 'gates' | 'givenGates'> {
  const result = resolveGates(program.gates, settings);
  if (result.kind === 'invalid') throw new ExitError(code, result.message);
  return { gates: result.enabled, givenGates: result.given };
}
