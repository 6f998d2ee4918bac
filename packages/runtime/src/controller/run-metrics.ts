// SPDX-License-Identifier: Apache-2.0
/**
 * The families of controller-runtime about its reconciles, so that its dashboards and alerts work: a controller there is a keyed loop here. Served by
 * `runController` only.
 *
 * | Outcome | `result` |
 * |---|---|
 * | done, dropped | success |
 * | requeueAfter | requeue_after |
 * | postpone | requeue |
 * | retry, or anything thrown | error |
 *
 * A run that a stop cut off has a duration and no result.
 */
import type { Clock } from '../clock/clock.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Outcome } from './reconcile.ts';

/** `defect`: the run threw. */
export type RunEnd = Outcome['kind'] | 'defect';

/** Counts the runs of one loop. */
export interface RunCounter {
  /** Returns what is called when the run has ended; undefined: it was cut off. */
  began(): (end: RunEnd | undefined) => void;
}

export interface RunMetrics {
  /** `workers`: how many runs of the loop there are at most at a time. */
  forLoop(loop: { readonly name: string; readonly workers: number }): RunCounter;
}

type Result = 'success' | 'error' | 'requeue' | 'requeue_after';

const resultOf: Readonly<Record<RunEnd, Result>> = {
  done: 'success',
  dropped: 'success',
  requeueAfter: 'requeue_after',
  postpone: 'requeue',
  retry: 'error',
  defect: 'error',
};

const buckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

interface Counted {
  readonly labels: { readonly controller: string };
  readonly workers: number;
  readonly runs: Record<Result, number>;
  active: number;
}

/** Registers the families, once per registry. */
export function createRunMetrics(clock: Pick<Clock, 'monotonicMs'>, metrics: Metrics): RunMetrics {
  const loops: Counted[] = [];
  const family = (name: string, help: string) => ({ name: `controller_runtime_${name}`, help, labels: ['controller'] });
  const collect = (valueOf: (loop: Counted) => number) => () =>
    loops.map((loop) => ({ labels: loop.labels, value: valueOf(loop) }));

  metrics.counter({
    ...family('reconcile_total', 'Total number of reconciliations per controller'),
    labels: ['controller', 'result'],
    collect: () =>
      loops.flatMap(({ labels, runs }) =>
        Object.entries(runs).map(([result, value]) => ({ labels: { ...labels, result }, value })),
      ),
  });
  metrics.counter({
    ...family('reconcile_errors_total', 'Total number of reconciliation errors per controller'),
    collect: collect(({ runs }) => runs.error),
  });
  metrics.gauge({
    ...family('max_concurrent_reconciles', 'Maximum number of concurrent reconciles per controller'),
    collect: collect(({ workers }) => workers),
  });
  metrics.gauge({
    ...family('active_workers', 'Number of currently used workers per controller'),
    collect: collect(({ active }) => active),
  });
  const durations = metrics.histogram({
    ...family('reconcile_time_seconds', 'Length of time per reconciliation per controller'),
    buckets,
  });

  return {
    forLoop: ({ name, workers }) => {
      const labels = { controller: name };
      const loop: Counted = {
        labels,
        workers,
        runs: { success: 0, error: 0, requeue: 0, requeue_after: 0 },
        active: 0,
      };
      loops.push(loop);
      return {
        began: () => {
          loop.active += 1;
          const startedMs = clock.monotonicMs();
          return (end) => {
            loop.active -= 1;
            durations.observe((clock.monotonicMs() - startedMs) / 1000, labels);
            if (end !== undefined) loop.runs[resultOf[end]] += 1;
          };
        },
      };
    },
  };
}
