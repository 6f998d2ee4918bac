// SPDX-License-Identifier: Apache-2.0
/** Argument lists of real deployments, as their charts and manifests render them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type GateSettings, parseFlags, type ProgramFlags, resolveGates } from '../src/index.ts';

export { fakeHost } from './fake-host.ts';
export type { FakeHost, FakeHostOptions } from './fake-host.ts';
export { runOverDriver } from './run-over-driver.ts';
export type { DrivenOptions, DrivenProgram } from './run-over-driver.ts';

export interface RealArgumentList {
  /** Whose deployment it is. */
  readonly driver: string;
  /** Upstream's repository name, e.g. `external-provisioner`. */
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The lists of one program; `$(VAR)` is expanded from `env` as kubelet does, and left literal where unset. */
export function realArgumentLists(program: string): readonly RealArgumentList[] {
  const text = readFileSync(join(import.meta.dirname, 'real-argument-lists.json'), 'utf8');
  return (JSON.parse(text) as readonly RealArgumentList[])
    .filter((list) => list.program === program)
    .map((list) => ({ ...list, args: list.args.map((arg) => expand(arg, list.env ?? {})) }));
}

/** What the program refuses of these lists; empty when it accepts all of them. */
export function refusedOf<V extends { readonly 'feature-gates': GateSettings }, G extends string>(
  { flags, syntax, gates }: Pick<ProgramFlags<V, G>, 'flags' | 'syntax' | 'gates'>,
  lists: readonly RealArgumentList[],
): readonly string[] {
  return lists.flatMap(({ args }): readonly string[] => {
    const result = parseFlags(flags, syntax, args);
    if (result.kind !== 'parsed') return [result.kind === 'invalid' ? result.message : result.kind];
    const resolved = resolveGates(gates, result.values['feature-gates']);
    return resolved.kind === 'resolved' ? result.positionals : [resolved.message];
  });
}

function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\(([A-Za-z_]\w*)\)/g, (literal, name: string) => env[name] ?? literal);
}

/** Go's result for one command line; see go-flags/main.go. */
export interface GoVerdict {
  readonly syntax: 'go' | 'pflag';
  readonly args: readonly string[];
  readonly error?: string;
  readonly help?: true;
  readonly values?: Readonly<Record<string, unknown>>;
  readonly given?: readonly string[];
  readonly rest?: readonly string[];
}

export interface GoResults {
  readonly results: readonly GoVerdict[];
  readonly usage: string;
  /** Nanoseconds -> text. */
  readonly durations: Readonly<Record<string, string>>;
}

export function goResults(): GoResults {
  const text = readFileSync(join(import.meta.dirname, 'go-flags/expected.json'), 'utf8');
  return JSON.parse(text) as GoResults;
}
