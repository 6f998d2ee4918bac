// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { recordingMetrics } from '../../testing/index.ts';
import type { HttpResponse } from '../diagnostics/diagnostics-server.ts';
import { countedScrapes } from './counted-scrapes.ts';

const request = { method: 'GET', path: '/m', query: new URLSearchParams(), signal: new AbortController().signal };

it('given scrapes that run, succeed and fail, then they are counted as running, and afterwards by their status', async () => {
  const total = 'promhttp_metric_handler_requests_total';
  const inFlight = 'promhttp_metric_handler_requests_in_flight';
  const metrics = recordingMetrics();
  const runs: PromiseWithResolvers<HttpResponse>[] = [];
  const handler = () => {
    const run = Promise.withResolvers<HttpResponse>();
    runs.push(run);
    return run.promise;
  };
  const route = countedScrapes({ path: '/m', methods: 'any', handler }, metrics);
  const counts = () => [
    metrics.value(inFlight),
    ...['200', '500', '503'].map((code) => metrics.value(total, { code })),
  ];
  expect({ ...route, handler: undefined }).toEqual({ path: '/m', methods: 'any', handler: undefined });
  expect([metrics.definition(total), metrics.definition(inFlight)]).toEqual([
    { help: 'Total number of scrapes by HTTP status code.', labels: ['code'] },
    { help: 'Current number of scrapes being served.', labels: [] },
  ]);
  expect(counts()).toEqual([0, 0, 0, 0]);
  const answers = [1, 2, 3].map(async () => await route.handler(request));
  expect(counts()).toEqual([3, 0, 0, 0]);
  const ok: HttpResponse = { status: 200, body: 'page' };
  runs[0]!.resolve(ok);
  expect(await answers[0]).toBe(ok);
  expect(counts()).toEqual([2, 1, 0, 0]);
  runs[1]!.resolve({ status: 503, body: 'busy' });
  expect(await answers[1]).toEqual({ status: 503, body: 'busy' });
  runs[2]!.reject(new Error('broken'));
  await expect(answers[2]).rejects.toThrow('broken');
  expect(counts()).toEqual([0, 1, 1, 1]);
});
