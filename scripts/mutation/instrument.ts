// SPDX-License-Identifier: Apache-2.0
/**
 * Puts all mutants of a file into its code behind a switch, `__m(id)`, so that modules stay loaded from one mutant to the
 * next. The mutated code exists in memory only.
 */
import type { Mutant } from './mutants.ts';
import type { Shape } from './mutators.ts';

interface Host {
  readonly shape: Shape;
  readonly start: number;
  readonly end: number;
  readonly mutants: Mutant[];
}

/** Outer first where two hosts have the same range. */
const rank: Readonly<Record<Shape, number>> = { statement: 0, property: 1, element: 1, expression: 2 };

function hostsOf(mutants: readonly Mutant[]): readonly Host[] {
  const hosts = new Map<string, Host>();
  for (const mutant of mutants) {
    const { shape, start, end } = mutant;
    const key = `${shape} ${start} ${end}`;
    const host = hosts.get(key) ?? { shape, start, end, mutants: [] };
    host.mutants.push(mutant);
    hosts.set(key, host);
  }
  return [...hosts.values()].sort((a, b) => a.start - b.start || b.end - a.end || rank[a.shape] - rank[b.shape]);
}

function wrap({ shape, mutants }: Host, inner: string, firstId: number): string {
  const on = (mutant: Mutant) => `globalThis.__m(${firstId + mutant.index})`;
  const first = mutants[0]!;
  // In a block, so that an `else` that follows stays with its own `if`.
  if (shape === 'statement') return `{ if (!${on(first)}) ${inner} }`;
  if (shape === 'property') return `...(${on(first)} ? {} : { ${inner} })`;
  if (shape === 'element') return `...(${on(first)} ? [] : [${inner}])`;
  return `(${mutants.map((mutant) => `${on(mutant)} ? (${mutant.replacement}) : `).join('')}${inner})`;
}

export function instrument(source: string, mutants: readonly Mutant[], firstId: number): string {
  const hosts = hostsOf(mutants);
  let next = 0;
  return emit(0, source.length);

  function emit(start: number, end: number): string {
    let code = '';
    let at = start;
    for (let host = hosts[next]; host !== undefined && host.end <= end; host = hosts[next]) {
      next += 1;
      code += source.slice(at, host.start) + wrap(host, emit(host.start, host.end), firstId);
      at = host.end;
    }
    return code + source.slice(at, end);
  }
}
