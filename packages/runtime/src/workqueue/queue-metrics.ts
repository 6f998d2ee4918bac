// SPDX-License-Identifier: Apache-2.0
/**
 * The `workqueue_*` families of Kubernetes' component-base. Gauges are computed at each scrape, so an idle queue needs no
 * timer. Queues of one name share their series: depth and unfinished work add up, the longest running processor is the longest
 * of all (upstream's queues overwrite each other there).
 */
import { type Metrics, perRegistry, type Sample } from '../metrics/metrics.ts';
import type { LaneState } from './backlog.ts';
import { registerLaneMetrics } from './lane-metrics.ts';

/** The current values of a queue. */
export interface MeasuredQueue {
  readonly depth: number;
  runningMs(): Iterable<number>;
  /** Empty for a queue without lanes. */
  lanes(): readonly LaneState[];
}

/** The instruments to which a queue reports, by its name. */
export interface QueueInstruments {
  attach(queue: MeasuredQueue): void;
  detach(queue: MeasuredQueue): void;
  added(): void;
  retried(): void;
  /** The time from the first add until the key is handed out. */
  waited(ms: number): void;
  /** The time from handing out the key until it is done. */
  worked(ms: number): void;
}

export interface WorkQueueMetrics {
  /** A queue without a name has no metrics. */
  forQueue(name: string): QueueInstruments | undefined;
}

/** 1e-8 * 10^k, k = 0..9, as in component-base. */
const durationBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10];

/** The one set of a registry, for processes in which several controllers share it. */
export const workQueueMetricsOf: (metrics: Metrics) => WorkQueueMetrics = perRegistry(createWorkQueueMetrics);

/**
 * Registers the families. Once per registry: every queue of the process gets its instruments from the one result. Those of
 * lanes are there from the first queue that has lanes.
 */
export function createWorkQueueMetrics(metrics: Metrics): WorkQueueMetrics {
  const queues = new Map<string, Set<MeasuredQueue>>();
  const family = (name: string, help: string) => ({ name: `workqueue_${name}`, help, labels: ['name'] });
  const collect =
    (value: (queues: ReadonlySet<MeasuredQueue>) => number): (() => Sample[]) =>
    () =>
      [...queues].map(([name, set]) => ({ labels: { name }, value: value(set) }));

  metrics.gauge({
    ...family('depth', 'Current depth of workqueue'),
    collect: collect((set) => sum(set, (queue) => queue.depth)),
  });
  metrics.gauge({
    ...family(
      'unfinished_work_seconds',
      "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
    ),
    collect: collect((set) => sum(set, (queue) => sum(queue.runningMs(), (ms) => ms / 1000))),
  });
  metrics.gauge({
    ...family(
      'longest_running_processor_seconds',
      'How many seconds has the longest running processor for workqueue been running.',
    ),
    collect: collect((set) => [...set].flatMap((queue) => [...queue.runningMs()]).reduce(largest, 0) / 1000),
  });
  const adds = metrics.counter(family('adds_total', 'Total number of adds handled by workqueue'));
  const retries = metrics.counter(family('retries_total', 'Total number of retries handled by workqueue'));
  const queueDuration = metrics.histogram({
    ...family('queue_duration_seconds', 'How long in seconds an item stays in workqueue before being requested.'),
    buckets: durationBuckets,
  });
  const workDuration = metrics.histogram({
    ...family('work_duration_seconds', 'How long in seconds processing an item from workqueue takes.'),
    buckets: durationBuckets,
  });

  let lanesRegistered = false;
  const registerLanes = (): void => {
    if (lanesRegistered) return;
    lanesRegistered = true;
    registerLaneMetrics(metrics, function* () {
      for (const [name, set] of queues) for (const queue of set) for (const lane of queue.lanes()) yield [name, lane];
    });
  };

  return {
    forQueue: (name) => {
      if (name === '') return undefined;
      const labels = { name };
      const own = queues.get(name) ?? new Set();
      queues.set(name, own);
      // A counter that does not exist before its first event hides that event from rate().
      adds.inc(labels, 0);
      retries.inc(labels, 0);
      return {
        attach: (queue) => {
          own.add(queue);
          if (queue.lanes().length > 0) registerLanes();
        },
        detach: (queue) => own.delete(queue),
        added: () => adds.inc(labels),
        retried: () => retries.inc(labels),
        waited: (ms) => queueDuration.observe(ms / 1000, labels),
        worked: (ms) => workDuration.observe(ms / 1000, labels),
      };
    },
  };
}

function sum<T>(items: Iterable<T>, value: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += value(item);
  return total;
}

const largest = (a: number, b: number): number => Math.max(a, b);
