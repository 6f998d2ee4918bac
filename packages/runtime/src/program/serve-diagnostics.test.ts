// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock, recordingLogger } from '../../testing/index.ts';
import { createRegistry } from '../metrics/registry.ts';
import { serveDiagnostics, type ServeOptions } from './serve-diagnostics.ts';

function parts() {
  const metrics = createRegistry();
  metrics.counter({ name: 'own_total', help: 'Own.' }).inc({}, 2);
  return { clock: new FakeClock(), logger: recordingLogger(), metrics, logWriter: { dropped: 3 } };
}

const options: ServeOptions = { address: '127.0.0.1:0', metricsPath: '/page', startedAtMs: 1_500_000, routes: [] };

const own = ['own_total 2', 'process_start_time_seconds 1500'];
const more = ['log_lines_dropped 3', 'promhttp_metric_handler_requests_total{code="200"} 0'];

it.each([
  { given: 'no metric for dropped lines', option: {}, present: own, absent: [...more, 'process_cpu_seconds_total'] },
  {
    given: 'a metric for dropped lines',
    option: { droppedLinesMetric: 'log_lines_dropped' },
    present: [
      ...own,
      ...more,
      '# HELP log_lines_dropped Log lines that were dropped because their reader was too slow.',
    ],
    absent: [],
  },
])('given $given, then the page has $present, and not $absent', async ({ option, present, absent }) => {
  const deps = parts();
  await using server = await serveDiagnostics(deps, { ...options, ...option });
  const response = await fetch(`http://127.0.0.1:${server.port}/page`);
  const page = await response.text();
  expect(response.headers.get('process-start-time-unix')).toBe('1500');
  for (const line of present) expect(page).toContain(`${line}\n`);
  for (const line of absent) expect(page).not.toContain(line);
  expect(deps.logger.lines).toEqual([
    { kind: 'info', level: 0, message: 'ServeMux listening', facts: { address: '127.0.0.1:0' } },
  ]);
});

it('given a route that fails, then the log says so; given one for the path of the page, then it replaces the page', async () => {
  const deps = parts();
  const handler = (): never => {
    throw new Error('defect');
  };
  const routes = [{ path: '/page', handler }];
  await using server = await serveDiagnostics(deps, { ...options, routes });
  expect((await fetch(`http://127.0.0.1:${server.port}/page`)).status).toBe(500);
  expect(deps.logger.messages()).toEqual(['ServeMux listening', 'HTTP handler failed']);
});

it('given an address that cannot be listened on, then it is refused, and nothing is said to listen', async () => {
  const deps = parts();
  await expect(serveDiagnostics(deps, { ...options, address: 'nowhere' })).rejects.toThrow('cannot listen on nowhere');
  expect(deps.logger.messages()).toEqual([]);
});
