// SPDX-License-Identifier: Apache-2.0
/**
 * A strict reader of the text format of Prometheus (0.0.4): each family has its comments before its samples, its samples together, no
 * series twice, and buckets that are cumulative. It throws at the first line that is wrong.
 */
export interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

const types: readonly string[] = ['counter', 'gauge', 'histogram', 'summary', 'untyped'];
const suffixes: Readonly<Record<string, readonly string[]>> = {
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['', '_sum', '_count'],
};
const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*)(?: (.*))?$/;
const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: -?\d+)?$/;
const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)/y;

export function readExposition(text: string): readonly Family[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const families: (Family & { readonly samples: Sample[] })[] = [];
  const series = new Set<string>();
  const help = new Map<string, string>();
  for (const line of text.slice(0, -1).split('\n')) {
    const [isComment, keyword, name = '', rest = ''] = comment.exec(line) ?? [];
    if (isComment !== undefined) {
      if (keyword === 'HELP') {
        if (help.has(name)) throw new Error(`two HELP lines: ${line}`);
        help.set(name, rest);
      } else {
        if (!types.includes(rest)) throw new Error(`unknown type: ${line}`);
        if (families.some((family) => family.name === name)) throw new Error(`two TYPE lines: ${line}`);
        families.push({ name, type: rest, help: help.get(name) ?? '', samples: [] });
      }
      continue;
    }
    const read = readSample(line);
    const family = families.at(-1);
    const allowed = (suffixes[family?.type ?? ''] ?? ['']).map((suffix) => `${family?.name}${suffix}`);
    if (family === undefined || !allowed.includes(read.name))
      throw new Error(`a sample outside of its family: ${line}`);
    const key = `${read.name} ${keyOf(read.labels)}`;
    if (series.has(key)) throw new Error(`a series twice: ${line}`);
    series.add(key);
    family.samples.push(read);
  }
  for (const family of families) if (family.type === 'histogram') checkBuckets(family);
  return families;
}

function readSample(line: string): Sample {
  const [matched, name = '', inner = '', number = ''] = sample.exec(line) ?? [];
  if (matched === undefined) throw new Error(`not a sample: ${line}`);
  const labels = new Map<string, string>();
  label.lastIndex = 0;
  for (let at = 0; at < inner.length; at = label.lastIndex) {
    label.lastIndex = at;
    const [, key, value] = label.exec(inner) ?? [];
    if (key === undefined || value === undefined || labels.has(key)) throw new Error(`wrong labels: ${line}`);
    labels.set(key, value);
  }
  const value = numberOf(number);
  if (value === undefined) throw new Error(`not a number: ${line}`);
  return { name, labels, value };
}

function numberOf(text: string): number | undefined {
  if (text === 'NaN') return NaN;
  if (/^[+-]?Inf$/.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : undefined;
}

function checkBuckets({ name, samples }: Family): void {
  const bySeries = Map.groupBy(samples, ({ labels }) => keyOf(new Map([...labels].filter(([key]) => key !== 'le'))));
  for (const [key, members] of bySeries) {
    const buckets = members.filter((each) => each.name === `${name}_bucket`);
    const counts = buckets.map(({ value }) => value);
    const bounds = buckets.map(({ labels }) => numberOf(labels.get('le') ?? '') ?? NaN);
    const count = members.find((each) => each.name === `${name}_count`)?.value;
    const grows = (numbers: readonly number[]): boolean =>
      numbers.every((each, at) => at === 0 || (numbers[at - 1] ?? NaN) <= each);
    if (!grows(counts) || !grows(bounds) || bounds.at(-1) !== Infinity || counts.at(-1) !== count) {
      throw new Error(`wrong buckets: ${name} ${key}`);
    }
  }
}

function keyOf(labels: ReadonlyMap<string, string>): string {
  return JSON.stringify([...labels].map((pair) => pair.join('=')).sort());
}
