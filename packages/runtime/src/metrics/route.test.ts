// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createRegistry } from './registry.ts';
import { metricsRoute, type MetricsRouteOptions } from './route.ts';

const request = { method: 'GET', path: '/m', query: new URLSearchParams(), signal: new AbortController().signal };

async function scrape(options: Pick<MetricsRouteOptions, 'processMetrics'>) {
  const registry = createRegistry();
  registry.counter({ name: 'own_total', help: 'own' }).inc();
  const { path, handler } = metricsRoute(registry, { path: '/m', startedAtMs: 1_700_000_000_999, ...options });
  const { body, ...head } = await handler(request);
  return { path, head, families: String(body).match(/^[a-z]\w+(?= )/gm) ?? [] };
}

it('given a scrape, then the page has the type of the text format and the second of the start, and the families of the process beside those of the program', async () => {
  const { path, head, families } = await scrape({});
  expect([path, head]).toEqual([
    '/m',
    {
      status: 200,
      headers: {
        'content-type': 'text/plain; version=0.0.4; charset=utf-8',
        'process-start-time-unix': '1700000000',
      },
    },
  ]);
  expect(families).toEqual(
    expect.arrayContaining(['own_total', 'process_start_time_seconds', 'process_cpu_seconds_total']),
  );
});

it('given a page that shows only the start of the process, then it has no other family of the process', async () => {
  const { families } = await scrape({ processMetrics: 'start' });
  expect(families).toEqual(['own_total', 'process_start_time_seconds']);
});
