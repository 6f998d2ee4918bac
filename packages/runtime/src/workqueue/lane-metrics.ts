// SPDX-License-Identifier: Apache-2.0
/**
 * The waiting and running keys in each lane of a queue, computed at each scrape. These families exist beside upstream's
 * `workqueue_*`, whose meaning does not depend on lanes.
 */
import type { Metrics, Sample } from '../metrics/metrics.ts';
import type { LaneState } from './backlog.ts';

/** The lanes of all queues, by the name of the queue; queues of one name share their series. */
export type MeasuredLanes = () => Iterable<readonly [name: string, lane: LaneState]>;

const labels = ['name', 'lane'];

/** Registers the families. Once per registry. */
export function registerLaneMetrics(metrics: Metrics, measured: MeasuredLanes): void {
  const collect = (value: (lane: LaneState) => number, join: (a: number, b: number) => number) => (): Sample[] => {
    const samples = new Map<string, Sample>();
    for (const [name, state] of measured()) {
      const { lane } = state;
      const series = JSON.stringify([name, lane]);
      const before = samples.get(series)?.value ?? 0;
      samples.set(series, { labels: { name, lane }, value: join(before, value(state)) });
    }
    return [...samples.values()];
  };
  metrics.gauge({
    name: 'csi_sidecars_workqueue_lane_waiting',
    help: 'Keys that are ready and wait for a free worker, by lane. Not those that wait for a retry.',
    labels,
    collect: collect(({ waiting }) => waiting, add),
  });
  metrics.gauge({
    name: 'csi_sidecars_workqueue_lane_in_flight',
    help: 'Keys that workers are working on, by lane.',
    labels,
    collect: collect(({ inFlight }) => inFlight, add),
  });
  metrics.gauge({
    name: 'csi_sidecars_workqueue_lane_oldest_waiting_seconds',
    help: 'How long the oldest of the waiting keys has been waiting, by lane. 0 when none waits.',
    labels,
    collect: collect(({ oldestWaitingMs }) => oldestWaitingMs / 1000, Math.max),
  });
}

const add = (a: number, b: number): number => a + b;
