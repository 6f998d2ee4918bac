// SPDX-License-Identifier: Apache-2.0
/** Prometheus' text format 0.0.4: label names sorted, `le` last. A family without samples is not shown. */

/** A family with its samples, as prom-client hands it out. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly {
    readonly metricName?: string;
    readonly labels: Readonly<Record<string, string | number>>;
    readonly value: number;
  }[];
}

export function familyText(family: Family): string {
  if (family.values.length === 0) return '';
  const help = family.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  const lines = family.values.map(
    (sample) => `${sample.metricName ?? family.name}${labelText(sample.labels)} ${numberText(sample.value)}\n`,
  );
  return `# HELP ${family.name} ${help}\n# TYPE ${family.name} ${family.type}\n${lines.join('')}`;
}

function labelText(labels: Readonly<Record<string, string | number>>): string {
  const names = Object.keys(labels).sort((a, b) => (a === 'le' ? 1 : b === 'le' ? -1 : a < b ? -1 : 1));
  if (names.length === 0) return '';
  const escape = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  return `{${names.map((name) => `${name}="${escape(String(labels[name]))}"`).join(',')}}`;
}

function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}
