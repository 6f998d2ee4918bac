// SPDX-License-Identifier: Apache-2.0
/**
 * The metrics of one run of a controller. What is computed at each scrape ends with the run: the next one registers it again, and both
 * together would be added up.
 */
import type { Metrics, NumberOptions } from '@csi-sidecars/runtime';

export interface MetricsOfRun {
  readonly metrics: Metrics;
  end(): void;
}

export function metricsOfRun(metrics: Metrics): MetricsOfRun {
  const collected = new Set<{ collect: NumberOptions['collect'] }>();
  const ending = (options: NumberOptions): NumberOptions => {
    if (options.collect === undefined) return options;
    const source = { collect: options.collect as NumberOptions['collect'] };
    collected.add(source);
    return { ...options, collect: () => source.collect?.() ?? [] };
  };
  return {
    metrics: {
      ...metrics,
      counter: (options) => metrics.counter(ending(options)),
      gauge: (options) => metrics.gauge(ending(options)),
    },
    end: () => {
      // What they refer to is not kept.
      for (const source of collected) source.collect = undefined;
    },
  };
}
