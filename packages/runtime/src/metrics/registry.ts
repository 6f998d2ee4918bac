// SPDX-License-Identifier: Apache-2.0
/**
 * The Metrics port without a library. A program that runs on every node would pay 2.5 MiB for prom-client and has two families.
 * What it writes equals what prom-client writes; the package `sidecar` tests both.
 */
import type { Labels, MetricOptions, NumberOptions, Sample, ScrapedMetrics } from './metrics.ts';
import { type Family, familyText } from './exposition.ts';

interface Series {
  readonly labels: Labels;
  value: number;
}
interface Distribution {
  readonly labels: Labels;
  /** How many observations are not above the bound. */
  readonly buckets: readonly { readonly bound: number; count: number }[];
  sum: number;
  count: number;
}

type Values = Family['values'];

export function createRegistry(): ScrapedMetrics {
  const families = new Map<string, { readonly family: Omit<Family, 'values'>; readonly read: () => Values }>();
  /** Two users of one name share its family. */
  const shared = new Map<string, unknown>();
  const once = <T>(name: string, make: () => T): T => {
    const existing = shared.get(name) as T | undefined;
    if (existing !== undefined) return existing;
    const made = make();
    shared.set(name, made);
    return made;
  };
  const declare = (type: string, { name, help }: MetricOptions, read: () => Values): void => {
    families.set(name, { family: { name, help, type }, read });
  };

  function numbers(type: string, options: NumberOptions) {
    const { at, sources } = once(options.name, () => {
      const series = new Map<string, Series>();
      const sources: (() => Iterable<Sample>)[] = [];
      const at = (labels: Labels): Series => entryOf(series, labels, () => ({ labels, value: 0 }));
      if (isOneSeries(options)) at({});
      declare(type, options, () => {
        if (sources.length > 0) series.clear();
        for (const source of sources) for (const sample of source()) at(sample.labels).value += sample.value;
        return [...series.values()];
      });
      return { at, sources };
    });
    if (options.collect !== undefined) sources.push(options.collect);
    return at;
  }

  return {
    counter(options) {
      const at = numbers('counter', options);
      return { inc: (labels = {}, by = 1) => void (at(labels).value += by) };
    },
    gauge(options) {
      const at = numbers('gauge', options);
      return { set: (value, labels = {}) => void (at(labels).value = value) };
    },
    histogram(options) {
      const at = once(options.name, () => {
        const distributions = new Map<string, Distribution>();
        const empty = () => options.buckets.map((bound) => ({ bound, count: 0 }));
        const at = (labels: Labels): Distribution =>
          entryOf(distributions, labels, () => ({ labels, buckets: empty(), sum: 0, count: 0 }));
        if (isOneSeries(options)) at({});
        declare('histogram', options, () =>
          [...distributions.values()].flatMap((each) => samplesOf(options.name, each)),
        );
        return at;
      });
      return {
        observe: (value, labels = {}) => {
          const distribution = at(labels);
          for (const bucket of distribution.buckets) if (value <= bucket.bound) bucket.count += 1;
          distribution.sum += value;
          distribution.count += 1;
        },
      };
    },
    text: async () =>
      [...families.values()].map(({ family, read }) => familyText({ ...family, values: read() })).join(''),
  };
}

/** Without labels there is one series, and it begins at zero. */
function isOneSeries({ labels }: MetricOptions): boolean {
  return labels === undefined || labels.length === 0;
}

function entryOf<T>(entries: Map<string, T>, labels: Labels, make: () => T): T {
  const key = JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const existing = entries.get(key);
  if (existing !== undefined) return existing;
  const made = make();
  entries.set(key, made);
  return made;
}

function samplesOf(name: string, { labels, buckets, sum, count }: Distribution): Values {
  const bucket = (le: string, value: number) => ({ metricName: `${name}_bucket`, labels: { ...labels, le }, value });
  return [
    ...buckets.map((each) => bucket(String(each.bound), each.count)),
    bucket('+Inf', count),
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
