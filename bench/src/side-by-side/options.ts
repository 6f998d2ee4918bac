// SPDX-License-Identifier: Apache-2.0
/** The command line of these benches. Every size is bounded, so that a run ends by itself. */
import { parseArgs } from 'node:util';

/** The main size of a bench. */
export interface Load {
  readonly flag: string;
  /** "waiting claims" */
  readonly title: string;
}

export interface Options {
  readonly only: readonly string[];
  /** The name of what is measured alone. Undefined means all, alternating. */
  readonly make: string | undefined;
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
  /** For `--make`. */
  readonly makes: readonly string[];
}

export function usageOf({ name, load, parts, makes }: Choice): string {
  return `usage: UPSTREAM_BIN=<folder> npm run bench -- ${name} [options]
  --rounds=N    of each implementation, interleaved (3)
  --${`${load.flag}=N`.padEnd(12)}${load.title} (1000)
  --foreign=N   objects of another driver, of each kind that the program watches (10000)
  --only=LIST   of ${parts.join(', ')} (all); bench/README.md stays as it is
  --make=NAME   one of ${makes.join(', ')}, alone; bench/README.md stays as it is
  --quick       one round, a tenth of the load, 500 foreign objects of each kind; bench/README.md stays as it is
`;
}

export function parseOptions(argv: readonly string[], { load, parts, makes }: Choice): Options {
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
  const { only, make } = given;
  return {
    rounds: number('rounds', quick ? 1 : 3, { from: 1, to: 20 }),
    load: number(load.flag, quick ? 100 : 1000, { from: 10, to: 10_000 }),
    foreign: number('foreign', quick ? 500 : 10_000, { from: 0, to: 100_000 }),
    settleMs: quick ? 3000 : 10_000,
    quick,
    only: typeof only === 'string' ? only.split(',').map((text) => oneOf('only', text, parts)) : parts,
    make: typeof make === 'string' ? oneOf('make', make, makes) : undefined,
    writesPage: !quick && only === undefined && make === undefined,
  };
}

interface Range {
  readonly from: number;
  readonly to: number;
}

function oneOf(flag: string, text: string, all: readonly string[]): string {
  if (all.includes(text)) return text;
  throw new Error(`--${flag}=${text} is none of ${all.join(', ')}`);
}
