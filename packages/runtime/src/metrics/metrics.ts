// SPDX-License-Identifier: Apache-2.0
/**
 * The metrics port: what a Prometheus registry offers, as plain functions, so that a program without an HTTP endpoint
 * pays nothing and tests read values directly. Implemented in registry.ts, and by `sidecar` on prom-client.
 */
export interface Metrics {
  counter(options: NumberOptions): Counter;
  gauge(options: NumberOptions): Gauge;
  histogram(options: MetricOptions & { readonly buckets: readonly number[] }): Histogram;
}

/** Metrics that something reads. */
export interface ScrapedMetrics extends Metrics {
  /** All families in Prometheus' text format 0.0.4. */
  text(): Promise<string>;
}

export interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

export interface NumberOptions extends MetricOptions {
  /** For values that are computed when they are read. */
  readonly collect?: () => Iterable<Sample>;
}

export type Labels = Readonly<Record<string, string>>;
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}
export interface Counter {
  inc(labels?: Labels, by?: number): void;
}
export interface Gauge {
  set(value: number, labels?: Labels): void;
}
export interface Histogram {
  observe(value: number, labels?: Labels): void;
}

const ignore = (): undefined => undefined;
export const noMetrics: Metrics = {
  counter: () => ({ inc: ignore }),
  gauge: () => ({ set: ignore }),
  histogram: () => ({ observe: ignore }),
};

/** Makes one for each registry. Without a registry each call makes its own: one that all share would keep everything it measures in memory. */
export function perRegistry<T>(create: (metrics: Metrics) => T): (metrics: Metrics) => T {
  const made = new WeakMap<Metrics, T>();
  return (metrics) => {
    if (metrics === noMetrics) return create(metrics);
    let found = made.get(metrics);
    if (found === undefined) made.set(metrics, (found = create(metrics)));
    return found;
  };
}
