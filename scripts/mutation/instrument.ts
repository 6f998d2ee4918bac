// SPDX-License-Identifier: Apache-2.0
/**
 * Puts all mutants of a file into its code behind a switch, `__m(id)`, so that modules stay loaded from one mutant to the
 * next. The mutated code exists in memory only.
 */
import type { Mutant } from './mutants.ts';
import type { Shape } from './mutators.ts';

type HostShape = Exclude<Shape, 'order'>;

interface Host {
  readonly shape: HostShape;
  readonly start: number;
  readonly end: number;
  readonly mutants: Mutant[];
  /** The statements that come after this one while their mutant is active. */
  readonly late: Mutant[];
}

/** Outer first where two hosts have the same range. */
const rank: Readonly<Record<HostShape, number>> = { statement: 0, property: 1, element: 1, expression: 2 };

function hostsOf(mutants: readonly Mutant[]): readonly Host[] {
  const hosts = new Map<string, Host>();
  const hostAt = (shape: HostShape, { start, end }: Pick<Mutant, 'start' | 'end'>): Host => {
    const key = `${shape} ${start} ${end}`;
    const host = hosts.get(key) ?? { shape, start, end, mutants: [], late: [] };
    hosts.set(key, host);
    return host;
  };
  for (const mutant of mutants) {
    hostAt(mutant.shape === 'order' ? 'statement' : mutant.shape, mutant).mutants.push(mutant);
    if (mutant.follower !== undefined) hostAt('statement', mutant.follower).late.push(mutant);
  }
  return [...hosts.values()].sort((a, b) => a.start - b.start || b.end - a.end || rank[a.shape] - rank[b.shape]);
}

interface Code {
  readonly source: string;
  /** With the switches of what is within. */
  readonly inner: string;
  readonly firstId: number;
}

function wrap({ shape, mutants, late }: Host, { source, inner, firstId }: Code): string {
  const on = (mutant: Mutant) => `globalThis.__m(${firstId + mutant.index})`;
  if (shape === 'statement') {
    const isOff = mutants.map(on).join(' || ');
    const now = isOff === '' ? inner : `if (!(${isOff})) ${inner}`;
    // In a block, so that an `else` that follows stays with its own `if`.
    return `{ ${now} ${late.map((mutant) => `if (${on(mutant)}) { ${source.slice(mutant.start, mutant.end)} }`).join(' ')} }`;
  }
  const first = mutants[0]!;
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
      code += source.slice(at, host.start) + wrap(host, { source, inner: emit(host.start, host.end), firstId });
      at = host.end;
    }
    return code + source.slice(at, end);
  }
}
