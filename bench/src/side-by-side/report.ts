// SPDX-License-Identifier: Apache-2.0
/** The results as a page section: the setting, a table of measures, tables of requests. Markdown, readable as text. */
import type { Results, Scale } from './measures.ts';
import type { Implementation } from './implementations.ts';
import type { Options } from './options.ts';
import type { Bench } from './bench.ts';

export interface Report {
  readonly name: string;
  readonly bench: Bench;
  readonly implementations: readonly Implementation[];
  readonly results: Results;
  readonly options: Options;
  /** The versions of Kubernetes, Node.js and driver, and the machine. */
  readonly setting: Readonly<Record<string, string>>;
}

export function toMarkdown(report: Report): string {
  const { bench, implementations, options, setting } = report;
  const versions = implementations.map(({ name, version }) => `${name} ${version}`).join('; ');
  const others = Object.entries(setting).map(([name, value]) => `${name} ${value}`);
  const rounds = options.rounds === 1 ? 'One round' : `Medians of ${options.rounds} rounds`;
  const foreign = bench.foreign === undefined ? '' : `, ${options.foreign} foreign objects of each kind`;
  return [
    `${bench.title ?? bench.programs.map(({ name }) => name).join(', ')}: ${[versions, ...others].join('; ')}. ${rounds}; ${options.load} ${bench.load.title}${foreign}.`,
    measureTable(report),
    ...Object.keys(bench.counts).flatMap((title) => countTable(report, title)),
  ].join('\n\n');
}

/** What was measured in each round, for the spread. */
export function toRounds(report: Report): string {
  const { bench, implementations, results } = report;
  const rows = measuredIds(report).map((id) => {
    const measure = bench.measures[id]!;
    const rounds = implementations.map(({ name }) =>
      results
        .values(name, id)
        .map((value) => show(value, measure))
        .join(', '),
    );
    return [measure.title, ...rounds];
  });
  return table(['all that was measured, in order', ...implementations.map(({ name }) => name)], rows);
}

/** Those that were measured. */
export function measuredIds({ bench, implementations, results }: Report): readonly string[] {
  return Object.keys(bench.measures).filter((id) =>
    implementations.some(({ name }) => results.value(name, id) !== undefined),
  );
}

function measureTable(report: Report): string {
  const { bench, implementations, results } = report;
  const rows = measuredIds(report).map((id) => {
    const measure = bench.measures[id]!;
    const values = implementations.map(({ name }) => results.value(name, id));
    return [measure.title, ...values.map((value) => show(value, measure)), ...ratios(values)];
  });
  const [first, ...others] = implementations.map(({ name }) => name);
  return table(['', first!, ...others, ...others.map((other) => `${first} / ${other}`)], rows);
}

/** Empty if nothing was counted. */
function countTable({ bench, implementations, results }: Report, title: string): readonly string[] {
  const columns = implementations.map(({ name }) => results.medianCounts(name, title));
  const kinds = [...new Set(columns.flatMap((column) => [...column.keys()]))].sort();
  if (kinds.length === 0) return [];
  const scale = bench.counts[title]!;
  const shown = kinds.map((kind) => [kind, ...columns.map((column) => show(column.get(kind) ?? 0, scale))]);
  return [table([title, ...implementations.map(({ name }) => name)], shown)];
}

export function show(value: number | undefined, { digits, unit }: Scale): string {
  if (value === undefined) return '-';
  const number = value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return unit === '' ? number : unit.startsWith('/') ? `${number}${unit}` : `${number} ${unit}`;
}

/** The first beside each of the others. */
function ratios([first, ...others]: readonly (number | undefined)[]): readonly string[] {
  return others.map((other) => ratio(first, other));
}

export function ratio(one: number | undefined, other: number | undefined): string {
  return one === undefined || other === undefined || other === 0 ? '' : (one / other).toFixed(2);
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, column) => (column === 0 ? (cells[column] ?? '').padEnd(width) : (cells[column] ?? '').padStart(width))).join(' | ')} |`;
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}
