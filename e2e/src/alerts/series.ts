// SPDX-License-Identifier: Apache-2.0
/**
 * Recorded samples as the series of a rule test: one scrape of the recorder is one scrape of Prometheus, whatever time passed between them,
 * and the end of a recording is repeated until the series are long enough for the durations of the rules.
 */
import type { Family } from '../scenarios/observability/exposition.ts';

/** The namespace of everything that is recorded. */
export const namespace = 'storage';

export type Labels = Readonly<Record<string, string>>;

/** What one target answered: undefined if it did not. */
export type Scrape = readonly Family[] | undefined;

export interface RecordedTarget {
  /** What Prometheus adds to each series of the target. */
  readonly labels: Labels;
  readonly scrapes: readonly Scrape[];
}

export interface Series {
  readonly name: string;
  readonly labels: Labels;
  /** Cumulative: repeated, it goes on from where it was. */
  readonly grows: boolean;
  /** By scrape; undefined where the series was not there. */
  readonly values: readonly (number | undefined)[];
}

/** As it stands below `input_series` of a rule test. */
export interface InputSeries {
  readonly series: string;
  readonly values: string;
}

export interface Length {
  /** Samples in the end. */
  readonly samples: number;
  /** How many of the last recorded ones are repeated. */
  readonly tail: number;
}

/** The series of these metrics, and `up`, which Prometheus writes for each target. */
export function seriesOf({ labels: added, scrapes }: RecordedTarget, metrics: ReadonlySet<string>): readonly Series[] {
  const found = new Map<string, Series & { readonly values: (number | undefined)[] }>();
  for (const [at, families] of scrapes.entries()) {
    for (const { type, samples } of families ?? []) {
      for (const { name, labels: own, value } of samples) {
        if (!metrics.has(name)) continue;
        const labels = withAdded(Object.fromEntries(own), added);
        const key = `${name}${JSON.stringify(labels)}`;
        let series = found.get(key);
        if (series === undefined) {
          series = { name, labels, grows: type !== 'gauge', values: scrapes.map(() => undefined) };
          found.set(key, series);
        }
        series.values[at] = value;
      }
    }
  }
  const up = scrapes.map((families) => (families === undefined ? 0 : 1));
  return [...found.values(), { name: 'up', labels: added, grows: false, values: up }];
}

/** As `honorLabels: false` has it: a label of the program that the target has too is renamed. */
function withAdded(own: Labels, added: Labels): Labels {
  const kept = Object.entries(own).map(([key, value]) => [Object.hasOwn(added, key) ? `exported_${key}` : key, value]);
  // A label without a value is no label.
  return { ...Object.fromEntries(kept.filter(([, value]) => value !== '')), ...added };
}

/** Repeats the last `tail` samples. A series that grows goes on growing by what it grew in them. */
export function lengthened({ values, grows }: Series, { samples, tail }: Length): readonly (number | undefined)[] {
  const recorded = values.length;
  const latest = (end: number): number => values.slice(0, end).findLast((value) => value !== undefined) ?? 0;
  // A process that ended meanwhile began at zero, and Prometheus knows what that means.
  const growth = grows ? Math.max(0, latest(recorded) - latest(recorded - tail)) : 0;
  return Array.from({ length: samples }, (_, at) => {
    if (at < recorded) return values[at];
    const beyond = at - recorded;
    const value = values[recorded - tail + (beyond % tail)];
    return value === undefined ? undefined : value + growth * (Math.floor(beyond / tail) + 1);
  });
}

export function toInput(series: Series, length: Length): InputSeries {
  const { name, labels } = series;
  const inner = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  return { series: `${name}{${inner.join(',')}}`, values: written(lengthened(series, length)) };
}

/** A series that is gone gets a marker, as Prometheus writes one when a scrape does not have it any more. */
function written(values: readonly (number | undefined)[]): string {
  return values
    .map((value, at) => {
      if (value !== undefined) return numberText(value);
      return at > 0 && values[at - 1] !== undefined ? 'stale' : '_';
    })
    .join(' ');
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Inf' : '-Inf';
}
