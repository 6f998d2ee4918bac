// SPDX-License-Identifier: Apache-2.0
import { fakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { metricsOfRun } from './metrics-of-run.ts';

it('given a gauge that each run registers again, then the page shows the value of the run that lives', async () => {
  const page = await fakeHost().openMetrics();
  const values = async (): Promise<readonly string[]> =>
    (await page.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const register = (value: number) => {
    const run = metricsOfRun(page);
    const { metrics } = run;
    metrics.gauge({ name: 'objects', help: 'h', collect: () => [{ labels: {}, value }] });
    metrics.counter({ name: 'calls_total', help: 'h' }).inc({}, value);
    metrics.counter({ name: 'read_total', help: 'h', collect: () => [{ labels: {}, value }] });
    metrics.histogram({ name: 'seconds', help: 'h', buckets: [1] }).observe(value);
    return run;
  };
  const histogram = (count: number, sum: number) => [
    'seconds_bucket{le="1"} 0',
    `seconds_bucket{le="+Inf"} ${count}`,
    `seconds_sum ${sum}`,
    `seconds_count ${count}`,
  ];
  const first = register(3);
  expect(await values()).toEqual(['objects 3', 'calls_total 3', 'read_total 3', ...histogram(1, 3)]);
  first.end();
  register(5);
  // A counter counts over all runs.
  expect(await values()).toEqual(['objects 5', 'calls_total 8', 'read_total 5', ...histogram(2, 8)]);
});
