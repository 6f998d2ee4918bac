// SPDX-License-Identifier: Apache-2.0
/** The results as a page section: what was compared, a table of measures, a table of requests. Markdown, readable as text. */
import { measureIds, measures, type Measure, type Results, type VolumePhase } from './measures.ts';
import type { Make } from './makes.ts';
import type { Options } from './options.ts';

export interface Report {
  readonly makes: readonly Make[];
  readonly results: Results;
  readonly options: Options;
  /** What else is worth naming: Kubernetes, Node.js, driver, machine. */
  readonly setting: Readonly<Record<string, string>>;
}

export function toMarkdown(report: Report): string {
  const { makes, options, setting } = report;
  const versions = makes.map(({ name, version }) => `${name} ${version}`).join(', ');
  const others = Object.entries(setting).map(([name, value]) => `${name} ${value}`);
  const sizes = `${options.claims} waiting claims, ${options.foreign} foreign objects of each kind`;
  return [
    `csi-provisioner: ${[versions, ...others].join('; ')}. Medians of ${options.rounds} rounds; ${sizes}.`,
    measureTable(report),
    ...(['created', 'deleted'] as const).map((phase) => requestTable(report, phase)),
  ].join('\n\n');
}

function measureTable({ makes, results }: Report): string {
  const rows = measureIds.flatMap((id) => {
    const measure = measures[id];
    const values = makes.map(({ name }) => results.median(name, id));
    if (values.every((value) => value === undefined)) return [];
    return [[measure.title, ...values.map((value) => show(value, measure)), ratio(values)]];
  });
  return table(['', ...makes.map(({ name }) => name), 'ours / upstream'], rows);
}

function requestTable({ makes, results }: Report, phase: VolumePhase): string {
  const columns = makes.map(({ name }) => results.medianRequests(name, phase));
  const kinds = [...new Set(columns.flatMap((column) => [...column.keys()]))].sort();
  const shown = kinds.map((kind) => [kind, ...columns.map((column) => (column.get(kind) ?? 0).toFixed(2))]);
  return table([`requests per ${phase} volume`, ...makes.map(({ name }) => name)], shown);
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
