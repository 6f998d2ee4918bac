// SPDX-License-Identifier: Apache-2.0
/**
 * The command line of a program of another version, perhaps upstream's, as this version reads it: what this version does not know is left
 * out and listed, and the rest counts.
 */
import type { GateSettings } from '../flags/flag.ts';
import { resolveGates } from '../flags/gates.ts';
import { parseFlags } from '../flags/parse.ts';
import type { ProgramFlags } from '../programs/manifest.ts';

export interface AssumedCommandLine<V, G extends string> {
  readonly values: V;
  /** Flags that were present, whatever their value. */
  readonly given: ReadonlySet<string>;
  readonly gates: Readonly<Record<G, boolean>>;
  readonly givenGates: ReadonlySet<string>;
  /** What was left out. */
  readonly assumed: readonly string[];
}

/** `args` undefined: the command line is not known, and all flags have their defaults. */
export function readAssumedCommandLine<V extends { readonly 'feature-gates'?: GateSettings }, G extends string>(
  program: ProgramFlags<V, G>,
  args: readonly string[] | undefined,
): AssumedCommandLine<V, G> {
  const assumed: string[] = args === undefined ? ['all flags have their defaults'] : [];
  const { values, given } = parseKnown(program, args ?? [], assumed);
  const { known, unknown } = gatesIn(program, values['feature-gates'] ?? {});
  assumed.push(...unknown.map((name) => `the feature gate ${name} changes nothing`));
  const resolved = resolveGates<G>(program.gates, known);
  if (resolved.kind === 'invalid') throw new Error(resolved.message);
  return { values, given, gates: resolved.enabled, givenGates: resolved.given, assumed };
}

function parseKnown<V extends object>(
  { flags, syntax }: Pick<ProgramFlags<V>, 'flags' | 'syntax'>,
  args: readonly string[],
  assumed: string[],
): { readonly values: V; readonly given: ReadonlySet<string> } {
  let rest = args;
  for (;;) {
    const parsed = parseFlags<V>(flags, syntax, rest);
    if (parsed.kind === 'parsed') return parsed;
    const name = parsed.kind === 'help' ? 'help' : (parsed.unknown ?? parsed.flag);
    const shorter = name === undefined ? rest : without(rest, name);
    // Each turn leaves a word out, or all of them.
    const isShorter = shorter.length < rest.length;
    assumed.push(isShorter ? `--${name} changes nothing` : 'all flags have their defaults');
    rest = isShorter ? shorter : [];
  }
}

/** Without the first flag of the name, and without its value if that is a word of its own. */
function without(args: readonly string[], name: string): readonly string[] {
  const at = args.findIndex((word) => /^--?([^=]*)/.exec(word)?.[1] === name);
  if (at < 0) return args;
  const next = args[at + 1];
  const hasValueBehind = !args[at]?.includes('=') && next !== undefined && !next.startsWith('-');
  return args.toSpliced(at, hasValueBehind ? 2 : 1);
}

const groups: ReadonlySet<string> = new Set(['AllAlpha', 'AllBeta']);

function gatesIn(
  { gates }: { readonly gates: Readonly<Record<string, unknown>> },
  settings: GateSettings,
): { readonly known: GateSettings; readonly unknown: readonly string[] } {
  const isKnown = (name: string): boolean => groups.has(name) || Object.hasOwn(gates, name);
  return {
    known: Object.fromEntries(Object.entries(settings).filter(([name]) => isKnown(name))),
    unknown: Object.keys(settings).filter((name) => !isKnown(name)),
  };
}
