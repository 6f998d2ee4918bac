// SPDX-License-Identifier: Apache-2.0
import type { Labels, Metrics, Sample } from '../src/metrics/metrics.ts';

export interface RecordingMetrics extends Metrics {
  /** The current value of a counter's or gauge's series, collected as a scrape would; undefined when there is none. */
  value(name: string, labels?: Labels): number | undefined;
  /** What a histogram's series observed, oldest first. */
  observations(name: string, labels?: Labels): readonly number[];
  /** The names of all families, in the order of their registration. */
  names(): readonly string[];
}

/** Metrics in memory. Registering a name twice throws, as a Prometheus registry does. */
export function recordingMetrics(): RecordingMetrics {
  const series = new Map<string, Map<string, number[]>>();
  const collectors = new Map<string, () => Iterable<Sample>>();
  const register = (name: string, collect?: () => Iterable<Sample>): Map<string, number[]> => {
    if (series.has(name)) throw new Error(`metric ${name} is already registered`);
    if (collect !== undefined) collectors.set(name, collect);
    const own = new Map<string, number[]>();
    series.set(name, own);
    return own;
  };
  return {
    counter: ({ name, collect }) => {
      const own = register(name, collect);
      return {
        inc: (labels = {}, by = 1) => {
          own.set(keyOf(labels), [(own.get(keyOf(labels))?.[0] ?? 0) + by]);
        },
      };
    },
    gauge: ({ name, collect }) => {
      const own = register(name, collect);
      return {
        set: (value, labels = {}) => {
          own.set(keyOf(labels), [value]);
        },
      };
    },
    histogram: ({ name }) => {
      const own = register(name);
      return {
        observe: (value, labels = {}) => {
          own.set(keyOf(labels), [...(own.get(keyOf(labels)) ?? []), value]);
        },
      };
    },
    value: (name, labels = {}) => {
      for (const sample of collectors.get(name)?.() ?? []) {
        if (keyOf(sample.labels) === keyOf(labels)) return sample.value;
      }
      return series.get(name)?.get(keyOf(labels))?.[0];
    },
    observations: (name, labels = {}) => series.get(name)?.get(keyOf(labels)) ?? [],
    names: () => [...series.keys()],
  };
}

function keyOf(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}
