// SPDX-License-Identifier: Apache-2.0
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { FakeClock, recordingLogger, recordingMetrics, settle } from '../../testing/index.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import { createWorkQueue } from '../workqueue/create-work-queue.ts';
import { createWorkQueueMetrics } from '../workqueue/queue-metrics.ts';
import { itemExponential } from '../workqueue/rate-limiters.ts';
import {
  done,
  dropped,
  postpone,
  requeueAfter,
  retry,
  retryWithin,
  type Outcome,
  type Reconcile,
} from './reconcile.ts';
import { openGate, type StartGate } from './start-gate.ts';
import { runWorkers } from './workers.ts';

interface FixtureOptions {
  readonly reconcile: Reconcile<string>;
  readonly workers?: number;
  readonly gate?: StartGate;
}

function aFixture({ reconcile, workers = 1, gate }: FixtureOptions) {
  const clock = new FakeClock();
  const metrics = recordingMetrics();
  const logger = recordingLogger();
  const stop = new AbortController();
  const outcomes: string[] = [];
  const runs: string[] = [];
  const queue = createWorkQueue<string>(
    { clock, queueMetrics: createWorkQueueMetrics(metrics) },
    { name: 'q', rateLimiter: itemExponential({ baseMs: 1000, maxMs: 300_000 }) },
  );
  let ended = false;
  const running = runWorkers(
    {
      queue,
      workers,
      logger,
      reconcile: (key, signal) => {
        runs.push(`${key}@${clock.monotonicMs()}`);
        return reconcile(key, signal);
      },
      runs: { began: () => (end) => void outcomes.push(end ?? 'cut off') },
      ...(gate === undefined ? {} : { gate }),
    },
    stop.signal,
  ).finally(() => (ended = true));
  return { clock, metrics, logger, stop, outcomes, runs, queue, running, hasEnded: () => ended };
}

/** Reconciles that end when the test says so. */
function held() {
  const ends = new Map<string, (outcome: Outcome) => void>();
  const signals = new Map<string, AbortSignal>();
  const reconcile: Reconcile<string> = (key, signal) =>
    new Promise((resolve) => {
      signals.set(key, signal);
      ends.set(key, resolve);
    });
  return { reconcile, signals, end: (key: string, outcome: Outcome = done) => ends.get(key)?.(outcome) };
}

describe('outcomes', () => {
  it('given done and requeueAfter, then failures are forgotten; given retry, then it backs off; given dropped, then nothing', async () => {
    const cause = new Error('no');
    const script = [retry(cause), retry(cause), dropped, requeueAfter(10), retry(cause), done];
    const { clock, runs, queue, outcomes } = aFixture({ reconcile: async () => script.shift() ?? done });
    queue.add('a');
    await clock.advance(3000);
    expect(queue.numRequeues('a')).toBe(2);
    queue.add('a');
    await clock.advance(2000);
    expect(runs).toEqual(['a@0', 'a@1000', 'a@3000', 'a@3000', 'a@3010', 'a@4010']);
    expect(outcomes).toEqual(['retry', 'retry', 'dropped', 'requeueAfter', 'retry', 'done']);
    expect([queue.numRequeues('a'), clock.pending]).toEqual([0, 0]);
  });

  it('[runtime#280] given a run that wants the next one at once, or even earlier, then that comes after 10 ms', async () => {
    const script = [requeueAfter(0), requeueAfter(-60_000), requeueAfter(9), requeueAfter(11), done];
    const { clock, runs, queue } = aFixture({ reconcile: async () => script.shift() ?? done });
    queue.add('a');
    await clock.advance(100);
    expect(runs).toEqual(['a@0', 'a@10', 'a@20', 'a@30', 'a@41']);
  });

  it('[runtime#281] given a delay that is not a number, then it is logged as a defect, the key backs off, and other keys are processed', async () => {
    const script = [requeueAfter(Number.NaN), requeueAfter(50)];
    const { clock, runs, queue, logger } = aFixture({ reconcile: async () => script.shift() ?? done });
    for (const key of ['a', 'b']) queue.add(key);
    await clock.advance(3_000);
    expect(runs).toEqual(['a@0', 'b@0', 'b@50', 'a@1000']);
    expect(logger.lines).toMatchObject([
      { kind: 'error', message: 'Reconcile threw, will retry', facts: { key: 'a', failures: 1 } },
    ]);
  });

  it('given a failure or a postponement, then it is logged with the failures so far, and the key runs again, at the latest when its outcome says', async () => {
    const cause = new Error('no');
    const script = [retry(cause), postpone('no slot'), retryWithin(500, cause), retryWithin(60_000, cause)];
    const { clock, runs, logger, outcomes, queue } = aFixture({ reconcile: async () => script.shift() ?? done });
    queue.add('a');
    await clock.advance(60_000);
    expect(runs).toEqual(['a@0', 'a@1000', 'a@3000', 'a@3500', 'a@11500']);
    expect(outcomes).toEqual(['retry', 'postpone', 'retry', 'retry', 'done']);
    const message = 'Reconcile failed, will retry';
    const failed = (failures: number) => ({ kind: 'error', message, facts: { key: 'a', failures }, error: cause });
    const facts = { key: 'a', failures: 2, reason: 'no slot' };
    expect(logger.lines).toEqual([
      failed(1),
      { kind: 'info', level: 2, message: `${message}: postponed`, facts },
      failed(3),
      failed(4),
    ]);
  });

  it.each([
    [
      'throws synchronously',
      (): Promise<Outcome> => {
        throw new Error('sync');
      },
      new Error('sync'),
    ],
    ['rejects', (): Promise<Outcome> => Promise.reject(new Error('async')), new Error('async')],
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what foreign code may do
    ['rejects with undefined', (): Promise<Outcome> => Promise.reject(undefined), undefined],
  ])(
    '[runtime#124] given a reconcile that %s, then it is counted, logged and tried again, and the worker goes on',
    async (_, fail, cause) => {
      const script = [fail, async () => done];
      const { clock, runs, queue, outcomes, logger } = aFixture({
        reconcile: () => script.shift()?.() ?? Promise.resolve(done),
      });
      queue.add('a');
      await clock.advance(0);
      expect(queue.numRequeues('a')).toBe(1);
      queue.add('b');
      await clock.advance(1000);
      expect(runs).toEqual(['a@0', 'b@0', 'a@1000']);
      expect(outcomes).toEqual(['defect', 'done', 'done']);
      expect(logger.lines).toEqual([
        {
          kind: 'error',
          message: 'Reconcile threw, will retry',
          facts: {
            key: 'a',
            failures: 1,
            ...(cause && { stack: expect.stringMatching(`^Error: ${cause.message}\n +at `) as string }),
          },
          error: cause,
        },
      ]);
    },
  );

  it.each([
    { cause: new TypeError('undefined is not a function'), stack: 'logged' },
    { cause: new ReferenceError('x is not defined'), stack: 'logged' },
    { cause: Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL' }), stack: 'not logged' },
    { cause: new TypeError('fetch failed', { cause: new Error('refused') }), stack: 'not logged' },
    { cause: new Error('busy'), stack: 'not logged' },
  ])('given a retry because of $cause, then its stack is $stack: only a mistake in the code needs it', async (row) => {
    const { cause } = row;
    const { clock, queue, logger } = aFixture({ reconcile: async () => retry(cause) });
    queue.add('a');
    await clock.advance(0);
    expect(logger.lines.map(({ facts }) => facts['stack'])).toEqual([row.stack === 'logged' ? cause.stack : undefined]);
  });

  it('[runtime#126] given a key whose object is gone between failures, then its failure count is gone as well', async () => {
    const objects = new Set(['a']);
    const { clock, queue } = aFixture({
      reconcile: async (key) => (objects.has(key) ? retry(new Error('no')) : done),
    });
    queue.add('a');
    await clock.advance(1000);
    expect(queue.numRequeues('a')).toBe(2);
    objects.clear();
    await clock.advance(2000);
    expect([queue.numRequeues('a'), queue.length, clock.pending]).toEqual([0, 0, 0]);
  });
});

it('given a description of keys and no counter of runs, then a defect is logged with the facts of its key', async () => {
  const clock = new FakeClock();
  const queue = createWorkQueue<string>({ clock }, { rateLimiter: itemExponential({ baseMs: 1000, maxMs: 1000 }) });
  const logger = recordingLogger();
  const stop = new AbortController();
  const describeKey = (key: string) => ({ volume: `volume ${key}` });
  const reconcile = () => Promise.reject(new Error('defect'));
  const running = runWorkers({ queue, reconcile, workers: 1, logger, describe: describeKey }, stop.signal);
  queue.add('a');
  await settle();
  stop.abort(new OrderlyStop());
  await running;
  expect(logger.lines.map(({ facts }) => facts)).toMatchObject([{ key: 'a', volume: 'volume a', failures: 1 }]);
});

describe('concurrency', () => {
  it('[runtime#123] given a reconcile that never settles, then its slot stays taken and visible, and other keys go on', async () => {
    const { clock, queue, runs, metrics } = aFixture({
      workers: 2,
      reconcile: (key) => (key === 'stuck' ? new Promise(() => undefined) : Promise.resolve(done)),
    });
    for (const key of ['stuck', 'a', 'b']) queue.add(key);
    await clock.advance(60_000);
    queue.add('c');
    queue.add('stuck');
    await clock.advance(40_000);
    expect(runs).toEqual(['stuck@0', 'a@0', 'b@0', 'c@60000']);
    expect(metrics.value('workqueue_longest_running_processor_seconds', { name: 'q' })).toBe(100);
  });

  it('given more keys than workers, then never more than that many run, and keys that wait stay in the queue', async () => {
    const { reconcile, end } = held();
    const { queue, runs } = aFixture({ reconcile, workers: 2 });
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    await settle();
    expect([runs, queue.length]).toEqual([['a@0', 'b@0'], 2]);
    queue.add('c');
    end('b');
    await settle();
    expect([runs.slice(2), queue.length]).toEqual([['c@0'], 1]);
  });

  it('given workers that ran out of keys, then a new key starts at once', async () => {
    const { queue, runs } = aFixture({ reconcile: async () => done, workers: 2 });
    queue.add('a');
    await settle();
    queue.add('b');
    await settle();
    expect(runs).toEqual(['a@0', 'b@0']);
  });
});

describe('stopping', () => {
  it('given an orderly stop, then no key is handed out, running reconciles end undisturbed, and then it resolves', async () => {
    const { reconcile, end, signals } = held();
    const { queue, stop, runs, hasEnded, running } = aFixture({ reconcile });
    queue.add('a');
    queue.add('b');
    await settle();
    stop.abort(new OrderlyStop());
    queue.add('c');
    await settle();
    expect([signals.get('a')?.aborted, hasEnded()]).toEqual([false, false]);
    end('a');
    await running;
    expect([runs, queue.length]).toEqual([['a@0'], 1]);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
  });

  it.each([
    ['an orderly stop', new OrderlyStop()],
    ['any other abort', new Error('lost')],
  ])(
    'given a free worker beside a running reconcile, when it is stopped by %s, then it resolves only when the reconcile has settled',
    async (_, reason) => {
      const { reconcile, end } = held();
      const { queue, stop, hasEnded, running } = aFixture({ reconcile, workers: 2 });
      queue.add('a');
      await settle();
      stop.abort(reason);
      await settle();
      expect(hasEnded()).toBe(false);
      end('a');
      await running;
    },
  );

  it('given any other abort, then running reconciles see its reason, and their failures are no defects', async () => {
    const lost = new Error('lease lost');
    const { clock, queue, stop, running, outcomes, logger } = aFixture({
      reconcile: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    });
    queue.add('a');
    await settle();
    stop.abort(lost);
    await running;
    expect(outcomes).toEqual(['cut off']);
    expect(logger.lines.map((line) => line.kind)).toEqual(['info']);
    expect(clock.pending).toBe(0);
  });

  it('given a reconcile that ignores the abort, then the workers have not ended before it settles', async () => {
    const { reconcile, end } = held();
    const { queue, stop, hasEnded, running } = aFixture({ reconcile });
    queue.add('a');
    await settle();
    stop.abort(new Error('lost'));
    await settle();
    expect(hasEnded()).toBe(false);
    end('a');
    await running;
  });

  it('given a signal that is already aborted, then nothing runs', async () => {
    const clock = new FakeClock();
    const runs: string[] = [];
    const queue = createWorkQueue<string>({ clock }, { rateLimiter: itemExponential({ baseMs: 1, maxMs: 1 }) });
    queue.add('a');
    const reconcile: Reconcile<string> = async (key) => {
      runs.push(key);
      return done;
    };
    await runWorkers({ queue, reconcile, workers: 1, logger: recordingLogger() }, AbortSignal.abort(new OrderlyStop()));
    queue.add('b');
    expect([runs, queue.length]).toEqual([[], 1]);
  });

  it('given a queue that fails, then its failure is thrown, and nothing is left on the signal', async () => {
    const broken = new Error('broken');
    const limiter = itemExponential({ baseMs: 1, maxMs: 1 });
    const queue = createWorkQueue<string>({ clock: new FakeClock() }, { rateLimiter: limiter });
    queue.get = () => Promise.reject(broken);
    const { signal } = new AbortController();
    const running = runWorkers({ queue, reconcile: async () => done, workers: 1, logger: recordingLogger() }, signal);
    await expect(running).rejects.toBe(broken);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});

describe('gate', () => {
  function aGate() {
    let opened = Promise.withResolvers<void>();
    let open = false;
    const gate: StartGate = {
      get open() {
        return open;
      },
      whenOpen: (signal) =>
        Promise.race([
          opened.promise,
          new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
        ]),
    };
    return {
      gate,
      unlock: () => {
        open = true;
        opened.resolve();
        opened = Promise.withResolvers();
      },
    };
  }

  it('given a closed gate, then the worker holds its key until the gate opens', async () => {
    const { gate, unlock } = aGate();
    const { queue, runs } = aFixture({ reconcile: async () => done, gate });
    queue.add('a');
    await settle();
    expect([runs, queue.length]).toEqual([[], 0]);
    unlock();
    await settle();
    expect(runs).toEqual(['a@0']);
  });

  it('given a closed gate, when stopped, then nothing starts', async () => {
    const { gate } = aGate();
    const { queue, runs, stop, running } = aFixture({ reconcile: async () => done, gate });
    queue.add('a');
    await settle();
    stop.abort(new Error('lost'));
    await running;
    expect(runs).toEqual([]);
  });

  it.each([
    ['a key that is added in the moment of the stop, then it is not worked on', openGate],
    [
      'a closed gate and a key that is added in the moment of the stop, then nothing starts, and it ends at once',
      aGate().gate,
    ],
  ])('given %s', async (_, gate) => {
    const { queue, stop, runs, running } = aFixture({ reconcile: async () => done, gate });
    await settle();
    queue.add('a');
    stop.abort(new OrderlyStop());
    await running;
    expect(runs).toEqual([]);
  });

  it('given an open gate, then no key waits for it to open', async () => {
    const gate: StartGate = { open: true, whenOpen: () => new Promise(() => undefined) };
    const { queue, runs } = aFixture({ reconcile: async () => done, gate });
    queue.add('a');
    await settle();
    expect(runs).toEqual(['a@0']);
  });

  it('given work that is not under a lease, then its gate is open', () => {
    expect(openGate.open).toBe(true);
  });
});
