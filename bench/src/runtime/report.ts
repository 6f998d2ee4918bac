// SPDX-License-Identifier: Apache-2.0
/** One measured number. Measurements run in processes of their own and tell their rows to whoever started them. */
export interface Row {
  readonly measure: string;
  readonly value: number;
  readonly unit: string;
  /** What the number should not exceed, or not fall below. For the reader; nothing is asserted. */
  readonly budget?: string;
}

export function tell(rows: readonly Row[]): void {
  if (process.send !== undefined) process.send(rows);
  else printTable(rows);
}

export function printTable(rows: readonly Row[]): void {
  const width = Math.max(...rows.map(({ measure }) => measure.length));
  for (const { measure, value, unit, budget = '' } of rows) {
    console.log(`${measure.padEnd(width)}  ${show(value).padStart(12)} ${unit.padEnd(9)} ${budget}`);
  }
}

/** The same for a page. */
export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ measure, value, unit, budget = '' }) =>
      `| ${measure} | ${show(value)} ${unit} | ${budget.replace('<=', '≤').replace('>=', '≥')} |`,
  );
  return ['|  |  | budget |', '| --- | ---: | ---: |', ...lines].join('\n');
}

function show(value: number): string {
  const digits = value < 100 ? 1 : 0;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Of sorted numbers. */
export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN;
}
