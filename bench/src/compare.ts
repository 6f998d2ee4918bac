// SPDX-License-Identifier: Apache-2.0
/** A table of ours beside upstream's, for benches that make their numbers without a control plane. */
import { spawnSync } from 'node:child_process';
import { ratio, table } from './side-by-side/report.ts';

export type Numbers = Readonly<Record<string, number>>;

/** The goal may be empty. */
export type Row = readonly [key: string, title: string, unit: string, goal: string];

export interface Compared {
  readonly ours: Numbers;
  /** Undefined: upstream's program was not measured. */
  readonly theirs: Numbers | undefined;
  /** A bare server, which does as little as it can. Default: the table has no column for it. */
  readonly floor?: Numbers;
}

export function comparison(rows: readonly Row[], { ours, theirs, floor }: Compared): string {
  return table(
    ['', 'ours', 'upstream', 'ours / upstream', ...(floor ? ['bare server'] : []), 'goal'],
    rows.map(([key, title, unit, goal]) => [
      title,
      cell(ours, key, unit),
      cell(theirs, key, unit),
      ours[key] === undefined ? '' : ratio(ours[key], theirs?.[key]),
      ...(floor ? [cell(floor, key, unit)] : []),
      goal,
    ]),
  );
}

/** The last word that the program prints for `--version`. */
export function versionOf(command: string): string {
  return spawnSync(command, ['--version'], { encoding: 'utf8' }).stdout.trim().split(/\s+/).at(-1) ?? '';
}

function cell(numbers: Numbers | undefined, key: string, unit: string): string {
  const value = numbers?.[key];
  if (value === Infinity) return 'refused';
  return value === undefined ? '-' : `${value.toFixed(Math.abs(value) < 10 ? 2 : 0)} ${unit}`.trim();
}
