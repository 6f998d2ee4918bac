// SPDX-License-Identifier: Apache-2.0
/** The results as a page section: the setting, a table of measures, tables of requests. Markdown, readable as text. */
import type { Measure, Results } from './measures.ts';
import type { Implementation } from './implementations.ts';
import type { Options } from './options.ts';
import type { Subject } from './subject.ts';

export interface Report<Id extends string> {
  readonly subject: Subject<Id>;
  readonly implementations: readonly Implementation[];
  readonly results: Results<Id>;
  readonly options: Options;
  /** The versions of Kubernetes, Node.js and driver, and the machine. */
  readonly setting: Readonly<Record<string, string>>;
}

export function toMarkdown<Id extends string>(report: Report<Id>): string {
  const { subject, implementations, options, setting } = report;
  const versions = implementations.map(({ name, version }) => `${name} ${version}`).join(', ');
  const others = Object.entries(setting).map(([name, value]) => `${name} ${value}`);
  const sizes = `${options.load} ${subject.load.title}, ${options.foreign} foreign objects of each kind`;
  return [
    `${subject.programs.map(({ name }) => name).join(', ')}: ${[versions, ...others].join('; ')}. Medians of ${options.rounds} rounds; ${sizes}.`,
    measureTable(report),
    ...subject.units.flatMap((unit) => requestTable(report, unit)),
  ].join('\n\n');
}

/** What was measured in each round, for the spread. */
export function toRounds<Id extends string>(report: Report<Id>): string {
  const { subject, implementations, results } = report;
  const rows = measuredIds(report).map((id) => {
    const measure = subject.measures[id];
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
export function measuredIds<Id extends string>({ subject, implementations, results }: Report<Id>): readonly Id[] {
  const ids = Object.keys(subject.measures) as Id[];
  return ids.filter((id) => implementations.some(({ name }) => results.value(name, id) !== undefined));
}

function measureTable<Id extends string>(report: Report<Id>): string {
  const { subject, implementations, results } = report;
  const rows = measuredIds(report).map((id) => {
    const measure = subject.measures[id];
    const values = implementations.map(({ name }) => results.value(name, id));
    return [measure.title, ...values.map((value) => show(value, measure)), ratio(values)];
  });
  return table(['', ...implementations.map(({ name }) => name), 'ours / upstream'], rows);
}

/** Empty if nothing was counted. */
function requestTable<Id extends string>({ implementations, results }: Report<Id>, unit: string): readonly string[] {
  const columns = implementations.map(({ name }) => results.medianRequests(name, unit));
  const kinds = [...new Set(columns.flatMap((column) => [...column.keys()]))].sort();
  if (kinds.length === 0) return [];
  const shown = kinds.map((kind) => [kind, ...columns.map((column) => (column.get(kind) ?? 0).toFixed(2))]);
  return [table([`requests per ${unit}`, ...implementations.map(({ name }) => name)], shown)];
}

export function show(value: number | undefined, { digits, unit }: Measure): string {
  if (value === undefined) return '-';
  const number = value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return unit === '' ? number : unit.startsWith('/') ? `${number}${unit}` : `${number} ${unit}`;
}

function ratio([ours, upstream]: readonly (number | undefined)[]): string {
  return ours === undefined || upstream === undefined || upstream === 0 ? '' : (ours / upstream).toFixed(2);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, column) => (column === 0 ? (cells[column] ?? '').padEnd(width) : (cells[column] ?? '').padStart(width))).join(' | ')} |`;
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}
