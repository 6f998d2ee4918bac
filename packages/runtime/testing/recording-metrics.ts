// SPDX-License-Identifier: Apache-2.0
import type { Labels, MetricOptions, Metrics, Sample } from '../src/metrics/metrics.ts';

export interface RecordingMetrics extends Metrics {
  /** The current value of a counter's or gauge's series, collected as a scrape would; undefined when there is none. */
  value(name: string, labels?: Labels): number | undefined;
  /** What a histogram's series observed, oldest first. */
  observations(name: string, labels?: Labels): readonly number[];
  /** The names of all families, in the order of their registration. */
  names(): readonly string[];
  /** What a family was registered with: help, labels, and the buckets of a histogram. */
  definition(name: string): Omit<HistogramOptions, 'name'> | undefined;
}

/** Metrics in memory. Registering a name twice throws, as a Prometheus registry does, and so does a label that was not declared. */
export function recordingMetrics(): RecordingMetrics {
  const series = new Map<string, Map<string, number[]>>();
  const collectors = new Map<string, () => ReadonlyMap<string, number>>();
  const definitions = new Map<string, Omit<HistogramOptions, 'name'>>();
  const register = ({ name, help, labels = [], buckets, collect }: AnyOptions): Family => {
    if (series.has(name)) throw new Error(`metric ${name} is already registered`);
    const own = new Map<string, number[]>();
    series.set(name, own);
    definitions.set(name, { help, labels, ...(buckets === undefined ? {} : { buckets }) });
    const keyIn = (given: Labels): string => {
      const undeclared = Object.keys(given).find((label) => !labels.includes(label));
      if (undeclared !== undefined) throw new Error(`metric ${name} has no label ${undeclared}`);
      return keyOf(given);
    };
    if (collect !== undefined) {
      collectors.set(name, () => new Map([...collect()].map((sample) => [keyIn(sample.labels), sample.value])));
    }
    return (given) => {
      const key = keyIn(given);
      const values = own.get(key) ?? [];
      return {
        values,
        replace: (changed) => void own.set(key, changed),
        // A copy for each would make 10,000 of them take a minute.
        append: (value) => void (values.push(value) === 1 && own.set(key, values)),
      };
    };
  };
  return {
    counter: (options) => {
      const family = register(options);
      return {
        inc: (labels = {}, by = 1) => {
          const { values, replace } = family(labels);
          replace([(values[0] ?? 0) + by]);
        },
      };
    },
    gauge: (options) => {
      const family = register(options);
      return { set: (value, labels = {}) => family(labels).replace([value]) };
    },
    histogram: (options) => {
      const family = register(options);
      return {
        observe: (value, labels = {}) => {
          family(labels).append(value);
        },
      };
    },
    value: (name, labels = {}) =>
      collectors.get(name)?.().get(keyOf(labels)) ?? series.get(name)?.get(keyOf(labels))?.[0],
    observations: (name, labels = {}) => [...(series.get(name)?.get(keyOf(labels)) ?? [])],
    names: () => [...series.keys()],
    definition: (name) => definitions.get(name),
  };
}

export interface HistogramOptions extends MetricOptions {
  readonly buckets?: readonly number[];
}

interface AnyOptions extends HistogramOptions {
  readonly collect?: () => Iterable<Sample>;
}

/** The series of a family with these labels. */
type Family = (labels: Labels) => {
  readonly values: readonly number[];
  readonly replace: (values: number[]) => void;
  readonly append: (value: number) => void;
};

function keyOf(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}
