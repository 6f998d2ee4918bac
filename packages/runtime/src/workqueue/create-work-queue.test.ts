// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { FakeClock, recordingMetrics, recordingLogger } from '../../testing/index.ts';
import { createWorkQueue } from './create-work-queue.ts';
import { createWorkQueueMetrics, workQueueMetricsOf } from './queue-metrics.ts';
import { itemExponential } from './rate-limiters.ts';

function aFixture(names: readonly string[] = ['claims']) {
  const clock = new FakeClock();
  const metrics = recordingMetrics();
  const families = createWorkQueueMetrics(metrics);
  const queues = names.map((name) =>
    createWorkQueue<string>(
      { clock, queueMetrics: families },
      { name, rateLimiter: itemExponential({ baseMs: 1000, maxMs: 300_000 }) },
    ),
  );
  const value = (family: string, name = 'claims') => metrics.value(`workqueue_${family}`, { name });
  return { clock, metrics, families, queues, queue: queues[0]!, value };
}

describe('delayed and rate limited adds', () => {
  it('[runtime#119] given a delay of zero or less, then the key is ready at once and counts as a retry', () => {
    const { queue, value, clock } = aFixture();
    queue.addAfter('a', 0);
    queue.addAfter('b', -5);
    expect(queue.length).toBe(2);
    expect(value('retries_total')).toBe(2);
    expect(clock.pending).toBe(0);
  });

  it('given a delay of a millisecond, then the key is ready after it', async () => {
    const { queue, clock } = aFixture();
    queue.addAfter('a', 1);
    expect(queue.length).toBe(0);
    await clock.advance(1);
    expect(queue.length).toBe(1);
  });

  it('given a key added directly while a delayed add of it waits, when it is handed out, then the delayed add is gone', async () => {
    const { queue, clock } = aFixture();
    queue.addAfter('a', 100);
    queue.add('a');
    await queue.get();
    queue.addAfter('a', 300);
    queue.done('a');
    await clock.advance(299);
    expect(queue.length).toBe(0);
    await clock.advance(1);
    expect(queue.length).toBe(1);
  });

  it('given rate limited adds, then they wait as long as the limiter says, until the key is forgotten', async () => {
    const { queue, clock } = aFixture();
    queue.addRateLimited('a');
    await clock.advance(999);
    expect([queue.length, queue.numRequeues('a')]).toEqual([0, 1]);
    await clock.advance(1);
    expect(queue.length).toBe(1);
    queue.forget('a');
    expect(queue.numRequeues('a')).toBe(0);
  });

  it('given a shut-down, then delayed keys are dropped, later adds are ignored and no timer is left', async () => {
    const { queue, clock, value } = aFixture();
    queue.addAfter('a', 100);
    queue.shutDown();
    expect(clock.pending).toBe(0);
    queue.addAfter('b', 100);
    await clock.advance(1000);
    expect([queue.length, clock.pending, value('retries_total')]).toEqual([0, 0, 1]);
    expect(await queue.get()).toBeUndefined();
  });

  it('given a shut-down with a drain, then delayed keys are dropped at once, and it ends with the last key', async () => {
    const { queue, clock } = aFixture();
    queue.addAfter('a', 100);
    queue.add('b');
    await queue.get();
    let isDrained = false;
    const drained = queue.shutDownWithDrain().then(() => (isDrained = true));
    expect(clock.pending).toBe(0);
    await clock.advance(1000);
    expect([clock.pending, queue.length, isDrained]).toEqual([0, 0, false]);
    queue.done('b');
    await drained;
  });
});

describe('metrics', () => {
  it('given the families, then names, help texts, labels and buckets are those of component-base', () => {
    const { metrics } = aFixture();
    const labels = ['name'];
    const buckets = [0.00000001, 0.0000001, 0.000001, 0.00001, 0.0001, 0.001, 0.01, 0.1, 1, 10];
    expect(Object.fromEntries(metrics.names().map((name) => [name, metrics.definition(name)]))).toEqual({
      workqueue_adds_total: { help: 'Total number of adds handled by workqueue', labels },
      workqueue_depth: { help: 'Current depth of workqueue', labels },
      workqueue_longest_running_processor_seconds: {
        help: 'How many seconds has the longest running processor for workqueue been running.',
        labels,
      },
      workqueue_queue_duration_seconds: {
        help: 'How long in seconds an item stays in workqueue before being requested.',
        labels,
        buckets,
      },
      workqueue_retries_total: { help: 'Total number of retries handled by workqueue', labels },
      workqueue_unfinished_work_seconds: {
        help: "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
        labels,
      },
      workqueue_work_duration_seconds: {
        help: 'How long in seconds processing an item from workqueue takes.',
        labels,
        buckets,
      },
    });
    const order = [
      'depth',
      'unfinished_work_seconds',
      'longest_running_processor_seconds',
      'adds_total',
      'retries_total',
    ];
    const names = [...order, 'queue_duration_seconds', 'work_duration_seconds'].map((name) => `workqueue_${name}`);
    expect(metrics.names()).toEqual(names);
  });

  it('given several controllers that share a registry, then the families are registered once, and each queue has its series', () => {
    const metrics = recordingMetrics();
    const [first, second] = [workQueueMetricsOf(metrics), workQueueMetricsOf(metrics)];
    for (const [families, name] of [
      [first, 'claims'],
      [second, 'volumes'],
    ] as const) {
      families.forQueue(name)?.added();
    }
    expect(['claims', 'volumes'].map((name) => metrics.value('workqueue_adds_total', { name }))).toEqual([1, 1]);
  });

  it('given a queue that had no key yet, then its counters and gauges are there, with zero', () => {
    const { value } = aFixture();
    const families = ['adds_total', 'retries_total', 'depth', 'unfinished_work_seconds'];
    expect([...families, 'longest_running_processor_seconds'].map((family) => value(family))).toEqual([0, 0, 0, 0, 0]);
  });

  it('given an idle queue with a key that waits, when it is shut down, then it no longer counts', () => {
    const { queue, value } = aFixture();
    queue.add('a');
    queue.shutDown();
    expect(value('depth')).toBe(0);
  });

  it('[runtime#128] given add at 0, get at 50 ms and done at 75 ms, then 0.05 and 0.025 s; a re-add while processed starts a new measurement', async () => {
    const { queue, clock, metrics, value } = aFixture();
    const observed = (family: string) => metrics.observations(`workqueue_${family}`, { name: 'claims' });
    queue.add('a');
    expect([value('adds_total'), value('depth')]).toEqual([1, 1]);
    await clock.advance(50);
    await queue.get();
    expect(value('depth')).toBe(0);
    await clock.advance(15);
    queue.add('a');
    expect([value('adds_total'), value('depth'), queue.length]).toEqual([2, 1, 0]);
    await clock.advance(10);
    queue.done('a');
    await clock.advance(5);
    await queue.get();
    expect(observed('queue_duration_seconds')).toEqual([0.05, 0.015]);
    expect(observed('work_duration_seconds')).toEqual([0.025]);
  });

  it('given keys in processing, then their ages are computed at each scrape, without a timer', async () => {
    const { queue, clock, value } = aFixture();
    queue.add('a');
    await queue.get();
    await clock.advance(2000);
    queue.add('b');
    await queue.get();
    await clock.advance(1000);
    expect(clock.pending).toBe(0);
    expect([value('unfinished_work_seconds'), value('longest_running_processor_seconds')]).toEqual([4, 3]);
    queue.done('a');
    expect([value('unfinished_work_seconds'), value('longest_running_processor_seconds')]).toEqual([1, 1]);
  });

  it('given two queues of one name, then their values are summed, and the longest run is that of both', async () => {
    const { queues, clock, value } = aFixture(['claims', 'claims', 'volumes']);
    for (const queue of queues) {
      queue.add('a');
      queue.add('b');
      await queue.get();
      await clock.advance(1000);
    }
    expect([value('depth'), value('adds_total'), value('depth', 'volumes')]).toEqual([2, 4, 1]);
    expect([value('unfinished_work_seconds'), value('longest_running_processor_seconds')]).toEqual([5, 3]);
  });

  it('given a queue that ended, then it no longer counts, and its counters stay', async () => {
    const { queue, value } = aFixture();
    queue.add('a');
    queue.add('b');
    await queue.get();
    queue.shutDown();
    expect(value('depth')).toBe(1);
    queue.done('a');
    expect([value('depth'), value('adds_total')]).toEqual([0, 2]);
  });

  it('given queues with lanes, then waiting and running keys are reported per lane, and upstream’s families count as ever', async () => {
    const { clock, metrics, families, value } = aFixture();
    const withLanes = (name: string) =>
      createWorkQueue<string>(
        { clock, queueMetrics: families },
        {
          name,
          rateLimiter: itemExponential({ baseMs: 1000, maxMs: 1000 }),
          lanes: {
            preferred: 'in',
            other: 'out',
            classify: (key) => ({ lane: key.startsWith('in') ? 'in' : 'out', group: '' }),
          },
        },
      );
    const [first, second, unmeasured] = [withLanes('lanes'), withLanes('lanes'), withLanes('')];
    unmeasured.add('in-0');
    for (const key of ['in-1', 'in-2', 'out-1']) first.add(key);
    await clock.advance(3000);
    second.add('out-2');
    await first.get();
    await clock.advance(1000);
    const lane = (family: string, name: string) =>
      metrics.value(`csi_sidecars_workqueue_lane_${family}`, { name: 'lanes', lane: name });
    const laneMetrics = (name: string) =>
      ['waiting', 'in_flight', 'oldest_waiting_seconds'].map((each) => lane(each, name));
    expect([laneMetrics('in'), laneMetrics('out')]).toEqual([
      [1, 1, 4],
      [2, 0, 4],
    ]);
    expect([value('depth', 'lanes'), value('adds_total', 'lanes'), value('depth')]).toEqual([3, 4, 0]);
    first.done('in-1');
    await first.get();
    expect(laneMetrics('in')).toEqual([0, 1, 0]);
  });

  it('given a queue without a name, then it has no series', () => {
    const { queues, value } = aFixture(['']);
    queues[0]!.add('a');
    queues[0]!.addAfter('b', 1);
    expect(value('depth', '')).toBeUndefined();
  });

  it('given no name, then the name that is asked for is the empty one', () => {
    const asked: string[] = [];
    const rateLimiter = itemExponential<string>({ baseMs: 1000, maxMs: 1000 });
    createWorkQueue<string>(
      { clock: new FakeClock(), queueMetrics: { forQueue: (name) => void asked.push(name) } },
      { rateLimiter },
    );
    expect(asked).toEqual(['']);
  });
});

it.each([recordingLogger(), undefined])(
  '[runtime#188] given a key whose lane cannot be found, then it waits, and an error line names it if there is a log',
  (logger) => {
    const defect = new Error('defect');
    const queue = createWorkQueue<string>(
      { clock: new FakeClock(), ...(logger === undefined ? {} : { logger }) },
      {
        rateLimiter: itemExponential({ baseMs: 1000, maxMs: 1000 }),
        lanes: {
          preferred: 'in',
          other: 'out',
          classify: () => {
            throw defect;
          },
        },
      },
    );
    queue.add('a');
    const message = 'Cannot assign a key to a lane, it waits in the lane that is not preferred';
    expect([queue.length, logger?.lines ?? 'no log']).toEqual([
      1,
      logger === undefined ? 'no log' : [{ kind: 'error', error: defect, message, facts: { key: 'a' } }],
    ]);
  },
);
