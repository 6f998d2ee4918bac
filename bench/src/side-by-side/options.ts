// SPDX-License-Identifier: Apache-2.0
/** The command line of these benches. Every size is bounded, so that a run ends by itself. */
import { parseArgs } from 'node:util';
import type { ImplementationName } from './measures.ts';

/** The main size of a bench. */
export interface Load {
  readonly flag: string;
  /** "waiting claims" */
  readonly title: string;
}

export interface Options {
  readonly only: readonly string[];
  /** Undefined means both, alternating. */
  readonly implementation: ImplementationName | undefined;
  readonly rounds: number;
  readonly load: number;
  readonly foreign: number;
  /** How long a process is idle before its memory is measured. */
  readonly settleMs: number;
  /** One round, with a tenth of the load. */
  readonly quick: boolean;
  /** Only a whole run rewrites the page. */
  readonly writesPage: boolean;
}

export interface Choice {
  readonly name: string;
  readonly load: Load;
  /** For `--only`. */
  readonly parts: readonly string[];
}

export function usageOf({ name, load, parts }: Choice): string {
  return `usage: UPSTREAM_BIN=<folder> npm run bench -- ${name} [options]
  --rounds=N    of each implementation, interleaved (3)
  --${`${load.flag}=N`.padEnd(12)}${load.title} (1000)
  --foreign=N   objects of another driver, of each kind that the program watches (10000)
  --only=LIST   of ${parts.join(', ')} (all); bench/README.md stays as it is
  --make=NAME   ours or upstream, alone; bench/README.md stays as it is
  --quick       one round, a tenth of the load, 500 foreign objects of each kind; bench/README.md stays as it is
`;
}

export function parseOptions(argv: readonly string[], { load, parts }: Choice): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      rounds: { type: 'string' },
      [load.flag]: { type: 'string' },
      foreign: { type: 'string' },
      only: { type: 'string' },
      make: { type: 'string' },
      quick: { type: 'boolean', default: false },
    },
  });
  const given: Readonly<Record<string, string | boolean | undefined>> = values;
  const quick = given['quick'] === true;
  const number = (name: string, usual: number, { from, to }: Range): number => {
    const text = given[name] ?? String(usual);
    const value = Number(text);
    if (Number.isInteger(value) && value >= from && value <= to) return value;
    throw new Error(`--${name}=${text} is not a number from ${from} to ${to}`);
  };
  const { only, make: implementation } = given;
  if (implementation !== undefined && implementation !== 'ours' && implementation !== 'upstream')
    throw new Error(`--make=${implementation} is neither`);
  return {
    rounds: number('rounds', quick ? 1 : 3, { from: 1, to: 20 }),
    load: number(load.flag, quick ? 100 : 1000, { from: 10, to: 10_000 }),
    foreign: number('foreign', quick ? 500 : 10_000, { from: 0, to: 100_000 }),
    settleMs: quick ? 3000 : 10_000,
    quick,
    only: typeof only === 'string' ? only.split(',').map((text) => partOf(text, parts)) : parts,
    implementation,
    writesPage: !quick && only === undefined && implementation === undefined,
  };
}

interface Range {
  readonly from: number;
  readonly to: number;
}

function partOf(text: string, parts: readonly string[]): string {
  if (parts.includes(text)) return text;
  throw new Error(`--only=${text} is none of ${parts.join(', ')}`);
}
