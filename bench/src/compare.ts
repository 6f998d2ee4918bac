// SPDX-License-Identifier: Apache-2.0
/** A table of ours beside upstream's, for benches that make their numbers without a control plane. */
import { spawnSync } from 'node:child_process';
import { ratio, table } from './side-by-side/report.ts';

export type Numbers = Readonly<Record<string, number>>;

/** The goal may be empty. */
export type Row = readonly [key: string, title: string, unit: string, goal: string];

/** `theirs`: undefined if upstream's program was not measured. */
export function comparison(rows: readonly Row[], ours: Numbers, theirs: Numbers | undefined): string {
  return table(
    ['', 'ours', 'upstream', 'ours / upstream', 'goal'],
    rows.map(([key, title, unit, goal]) => [
      title,
      cell(ours, key, unit),
      cell(theirs, key, unit),
      ours[key] === undefined ? '' : ratio(ours[key], theirs?.[key]),
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
