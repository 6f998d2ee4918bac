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
    return run;
  };
  const first = register(3);
  expect(await values()).toEqual(['objects 3', 'calls_total 3']);
  first.end();
  register(5);
  // A counter counts over all runs.
  expect(await values()).toEqual(['objects 5', 'calls_total 8']);
});
