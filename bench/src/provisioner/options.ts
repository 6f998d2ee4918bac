// SPDX-License-Identifier: Apache-2.0
/** The command line of this bench. Every size is bounded, so that a run ends by itself. */
import { parseArgs } from 'node:util';

export const parts = ['start', 'volumes', 'leaders', 'foreign'] as const;
export type Part = (typeof parts)[number];

export interface Options {
  readonly only: readonly Part[];
  readonly rounds: number;
  readonly claims: number;
  readonly foreign: number;
  /** Seconds of a steady stream of claims. */
  readonly streamSeconds: number;
  /** How long a process is left alone before its memory counts as idle. */
  readonly settleMs: number;
  /** Only a whole run rewrites the page. */
  readonly writesPage: boolean;
}

export const usage: string = `usage: UPSTREAM_BIN=<folder> [CSI_DRIVER_BIN=<file>] npm run bench -- provisioner [options]
  --rounds=N    of each make, interleaved (3)
  --claims=N    that wait when a sidecar starts (1000)
  --foreign=N   volumes, claims and attachments of another driver, each (10000)
  --only=LIST   of start, volumes, leaders, foreign (all); bench/README.md stays as it is
  --quick       one round, 100 claims, 500 foreign objects of each kind; bench/README.md stays as it is
`;

export function parseOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      rounds: { type: 'string' },
      claims: { type: 'string' },
      foreign: { type: 'string' },
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
    },
  });
  const { quick } = values;
  return {
    rounds: count('rounds', values.rounds ?? (quick ? '1' : '3'), { from: 1, to: 20 }),
    claims: count('claims', values.claims ?? (quick ? '100' : '1000'), { from: 10, to: 10_000 }),
    foreign: count('foreign', values.foreign ?? (quick ? '500' : '10000'), { from: 0, to: 100_000 }),
    streamSeconds: quick ? 3 : 10,
    settleMs: quick ? 3000 : 10_000,
    only: values.only === undefined ? parts : values.only.split(',').map(partOf),
    writesPage: !quick && values.only === undefined,
  };
}

function count(name: string, text: string, { from, to }: { readonly from: number; readonly to: number }): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < from || value > to) {
    throw new Error(`--${name}=${text} is not a number from ${from} to ${to}`);
  }
  return value;
}

function partOf(text: string): Part {
  const part = parts.find((each) => each === text);
  if (part === undefined) throw new Error(`--only=${text} is none of ${parts.join(', ')}`);
  return part;
}
