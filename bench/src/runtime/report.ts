// SPDX-License-Identifier: Apache-2.0
/** The results. Measurements run in separate processes and report their rows to the process that started them. */
import { median } from '../side-by-side/measures.ts';
import { table } from '../side-by-side/report.ts';

export interface Row {
  readonly measure: string;
  readonly value: number;
  readonly unit: string;
  /** The budget, for the reader; nothing is asserted. */
  readonly budget?: Budget;
}

export type Budget = { readonly atMost: number } | { readonly atLeast: number };

export function reportRows(rows: readonly Row[]): void {
  if (process.send !== undefined) process.send(rows);
  else console.log(tableOf(rows));
}

/** The medians of several runs of one measurement, row by row. */
export function mediansOf(runs: readonly (readonly Row[])[]): readonly Row[] {
  const [first = []] = runs;
  return first.map((row) => ({
    ...row,
    value: median(runs.flatMap((rows) => rows.filter(({ measure }) => measure === row.measure)).map(toValue)),
  }));
}

const toValue = ({ value }: Row): number => value;

export function tableOf(rows: readonly Row[]): string {
  const cells = rows.map((row) => [row.measure, `${show(row.value)} ${row.unit}`.trim(), limit(row), verdict(row)]);
  return table(['', 'measured', 'budget', ''], cells);
}

function limit({ budget }: Row): string {
  if (budget === undefined) return '';
  return 'atMost' in budget ? `≤ ${budget.atMost.toLocaleString('en')}` : `≥ ${budget.atLeast.toLocaleString('en')}`;
}

function verdict({ value, budget }: Row): string {
  if (budget === undefined) return '';
  const kept = 'atMost' in budget ? value <= budget.atMost : value >= budget.atLeast;
  return kept ? 'ok' : 'over';
}

function show(value: number): string {
  const digits = value < 100 && !Number.isInteger(value) ? 1 : 0;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
