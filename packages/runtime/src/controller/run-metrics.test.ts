// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock, recordingMetrics } from '../../testing/index.ts';
import { createRegistry } from '../metrics/registry.ts';
import { createRunMetrics, type RunEnd } from './run-metrics.ts';

const name = (family: string): string => `controller_runtime_${family}`;
const controller = 'labels';

function aLoop() {
  const clock = new FakeClock();
  const metrics = recordingMetrics();
  const runs = createRunMetrics(clock, metrics).forLoop({ name: controller, workers: 3 });
  const total = (result: string) => metrics.value(name('reconcile_total'), { controller, result });
  return {
    clock,
    metrics,
    runs,
    active: () => metrics.value(name('active_workers'), { controller }),
    results: () =>
      Object.fromEntries(['success', 'error', 'requeue', 'requeue_after'].map((each) => [each, total(each)])),
    errors: () => metrics.value(name('reconcile_errors_total'), { controller }),
  };
}

const none = { success: 0, error: 0, requeue: 0, requeue_after: 0 };

it.each<[RunEnd | undefined, Partial<typeof none>, number]>([
  ['done', { success: 1 }, 0],
  ['dropped', { success: 1 }, 0],
  ['requeueAfter', { requeue_after: 1 }, 0],
  ['postpone', { requeue: 1 }, 0],
  ['retry', { error: 1 }, 1],
  ['defect', { error: 1 }, 1],
  [undefined, {}, 0],
])(
  '[runtime#252] given a run that ends with %s, then its result is %j, and %d errors are counted',
  (end, result, errors) => {
    const loop = aLoop();
    expect([loop.results(), loop.errors()]).toEqual([none, 0]);
    loop.runs.began()(end);
    expect([loop.results(), loop.errors()]).toEqual([{ ...none, ...result }, errors]);
  },
);

it('[runtime#252] given runs, then those that go on are active, and each that ends has a duration', async () => {
  const { clock, metrics, runs, active } = aLoop();
  expect([active(), metrics.value(name('max_concurrent_reconciles'), { controller })]).toEqual([0, 3]);
  const ends = [runs.began(), runs.began()];
  expect(active()).toBe(2);
  await clock.advance(1_500);
  ends[0]?.('done');
  expect(active()).toBe(1);
  await clock.advance(500);
  ends[1]?.(undefined);
  expect(active()).toBe(0);
  expect(metrics.observations(name('reconcile_time_seconds'), { controller })).toEqual([1.5, 2]);
});

it('[runtime#252] given two loops, then a page has the families of controller-runtime with their help, and a series for each loop', async () => {
  const registry = createRegistry();
  const metrics = createRunMetrics(new FakeClock(), registry);
  const ends = ['a', 'b'].map((loop, index) => metrics.forLoop({ name: loop, workers: index + 1 }).began());
  ends[1]?.('done');
  const text = await registry.text();
  for (const line of [
    '# HELP controller_runtime_reconcile_total Total number of reconciliations per controller',
    '# TYPE controller_runtime_reconcile_total counter',
    'controller_runtime_reconcile_total{controller="a",result="requeue_after"} 0',
    '# HELP controller_runtime_reconcile_errors_total Total number of reconciliation errors per controller',
    '# TYPE controller_runtime_reconcile_errors_total counter',
    'controller_runtime_reconcile_errors_total{controller="b"} 0',
    '# HELP controller_runtime_max_concurrent_reconciles Maximum number of concurrent reconciles per controller',
    '# TYPE controller_runtime_max_concurrent_reconciles gauge',
    'controller_runtime_max_concurrent_reconciles{controller="b"} 2',
    '# HELP controller_runtime_active_workers Number of currently used workers per controller',
    '# TYPE controller_runtime_active_workers gauge',
    'controller_runtime_active_workers{controller="a"} 1',
    '# HELP controller_runtime_reconcile_time_seconds Length of time per reconciliation per controller',
    '# TYPE controller_runtime_reconcile_time_seconds histogram',
    'controller_runtime_reconcile_time_seconds_count{controller="b"} 1',
  ]) {
    expect(text).toContain(`${line}\n`);
  }
});

it('[runtime#252] given the duration of runs, then its buckets are those of controller-runtime', () => {
  const tenths = [0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9];
  const seconds = [1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60];
  expect(aLoop().metrics.definition(name('reconcile_time_seconds'))?.buckets).toEqual([
    0.005,
    0.01,
    0.025,
    0.05,
    ...tenths,
    ...seconds,
  ]);
});
