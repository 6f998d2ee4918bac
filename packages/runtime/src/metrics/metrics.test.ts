// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { noMetrics } from './metrics.ts';

it('given a program without metrics, then counters, gauges and histograms take values all the same', () => {
  const options = { name: 'f', help: 'f' };
  const use = () => {
    noMetrics.counter(options).inc();
    noMetrics.gauge(options).set(1);
    noMetrics.histogram({ ...options, buckets: [1] }).observe(1);
  };
  expect(use).not.toThrow();
});
