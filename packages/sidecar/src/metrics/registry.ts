// SPDX-License-Identifier: Apache-2.0
/**
 * The Metrics port on prom-client. This file is imported only when an endpoint is configured: a program without one pays
 * neither the import nor the series. Families appear in the output after their first observation, as upstream's do.
 * The runtime writes the text, because label names must be sorted, with `le` last.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Labels, MetricOptions, NumberOptions, Sample, ScrapedMetrics } from '@csi-sidecars/runtime';
import { type Family, familyText } from '@csi-sidecars/runtime/internal';

export function createMetricsRegistry(): ScrapedMetrics {
  const registry = new Registry();
  /** One family may be asked for by several users (two queues of one name): they share it. */
  const families = new Map<string, unknown>();
  const once = <T>(name: string, make: () => T): T => {
    const existing = families.get(name) as T | undefined;
    if (existing !== undefined) return existing;
    const made = make();
    families.set(name, made);
    return made;
  };
  const configuration = (
    options: MetricOptions,
  ): { name: string; help: string; labelNames: string[]; registers: Registry[] } => ({
    name: options.name,
    help: options.help,
    labelNames: [...(options.labels ?? [])],
    registers: [registry],
  });

  const collecting = (options: NumberOptions) => {
    const sources = once(`${options.name} sources`, (): (() => Iterable<Sample>)[] => []);
    if (options.collect !== undefined) sources.push(options.collect);
    return {
      ...configuration(options),
      collect(this: Pick<Gauge, 'reset' | 'inc'>): void {
        if (sources.length === 0) return;
        this.reset();
        for (const source of sources) {
          for (const sample of source()) this.inc(sample.labels, sample.value);
        }
      },
    };
  };

  return {
    counter(options) {
      const collected = collecting(options);
      const counter = once(options.name, () => new Counter(collected));
      return { inc: (labels: Labels = {}, by = 1) => counter.inc(labels, by) };
    },
    gauge(options) {
      const collected = collecting(options);
      const gauge = once(options.name, () => new Gauge(collected));
      return { set: (value: number, labels: Labels = {}) => gauge.set(labels, value) };
    },
    histogram(options) {
      const histogram = once(
        options.name,
        () => new Histogram({ ...configuration(options), buckets: [...options.buckets] }),
      );
      return { observe: (value: number, labels: Labels = {}) => histogram.observe(labels, value) };
    },
    async text() {
      const all = (await registry.getMetricsAsJSON()) as unknown as readonly Family[];
      return all.map(familyText).join('');
    },
  };
}
