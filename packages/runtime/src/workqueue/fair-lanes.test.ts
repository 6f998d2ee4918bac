// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock, recordingLogger, settle } from '../../testing/index.ts';
import { done } from '../controller/reconcile.ts';
import { runWorkers } from '../controller/workers.ts';
import { createWorkQueue } from './create-work-queue.ts';
import { FairLanes, type LanePlace } from './fair-lanes.ts';
import { itemExponential } from './rate-limiters.ts';

type Lane = 'attach' | 'detach';

/** Keys look like `attach/node-1/7`, unless a test says where they belong. */
function placeOf(key: string): LanePlace<Lane> {
  const [lane = '', group = ''] = key.split('/');
  return { lane: lane as Lane, group };
}

function aBacklog(classify: (key: string) => LanePlace<Lane> = placeOf) {
  const backlog = new FairLanes<string>({ preferred: 'attach', other: 'detach', classify });
  const take = (count: number) => Array.from({ length: count }, () => backlog.take()?.key);
  return { backlog, take };
}

const keysOf = (lane: Lane, node: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${lane}/${node}/${index}`);

describe('order', () => {
  it('given keys in both lanes, then the preferred lane is first, its groups take turns, and within a group order is kept', () => {
    const { backlog, take } = aBacklog();
    const keys = ['detach/a/1', 'attach/a/1', 'attach/a/2', 'attach/b/1', 'detach/b/1', 'detach/a/2'];
    for (const key of keys) backlog.add(key, 0);
    expect(take(7)).toEqual([
      'attach/a/1',
      'attach/b/1',
      'attach/a/2',
      'detach/a/1',
      'detach/b/1',
      'detach/a/2',
      undefined,
    ]);
  });

  it('given a key that is added twice, then it waits once, with the age of the first', () => {
    const { backlog } = aBacklog();
    expect([backlog.add('attach/a/1', 10), backlog.add('attach/a/1', 20), backlog.length]).toEqual([true, false, 1]);
    expect(backlog.take()).toMatchObject({ key: 'attach/a/1', dirtyMs: 10 });
    expect([backlog.take(), backlog.length]).toEqual([undefined, 0]);
  });

  it.each(['when it is added', 'when its turn comes'] as const)(
    '[runtime#188] given a key whose place cannot be found %s, then it waits in the other lane, the defect is reported, and all keys are handed out',
    (when) => {
      let isBroken = when === 'when it is added';
      const defects: unknown[] = [];
      const defect = new Error('defect');
      const backlog = new FairLanes<string>({
        preferred: 'attach',
        other: 'detach',
        classify: (key) => {
          if (isBroken && key === 'attach/a/1') throw defect;
          return placeOf(key);
        },
        onDefect: (error, key) => defects.push([error, key]),
      });
      for (const key of ['attach/a/1', 'attach/a/2', 'detach/b/1']) backlog.add(key, 0);
      isBroken = true;
      const order = Array.from({ length: 4 }, () => backlog.take()?.key);
      expect(new Set(order)).toEqual(new Set(['attach/a/1', 'attach/a/2', 'detach/b/1', undefined]));
      expect([order[0], backlog.length]).toEqual(['attach/a/2', 0]);
      expect(defects).toEqual(Array.from({ length: 2 }, () => [defect, 'attach/a/1']));
      expect(backlog.lanes(0).map(({ waiting, inFlight }) => [waiting, inFlight])).toEqual([
        [0, 1],
        [0, 2],
      ]);
    },
  );

  it('given a key that turned while it waits, when its turn comes, then it is in the lane it belongs to now', () => {
    const lanes = new Map<string, Lane>([
      ['turns', 'attach'],
      ['stays', 'attach'],
    ]);
    const { backlog, take } = aBacklog((key) => ({ lane: lanes.get(key) ?? 'detach', group: '' }));
    for (const key of ['turns', 'stays', 'detached']) backlog.add(key, 0);
    lanes.set('turns', 'detach');
    expect(take(4)).toEqual(['stays', 'detached', 'turns', undefined]);
  });

  it('given a key that turned towards the preferred lane, when it is added again, then it does not wait for the other lane', () => {
    const lanes = new Map<string, Lane>();
    const { backlog, take } = aBacklog((key) => ({ lane: lanes.get(key) ?? 'detach', group: '' }));
    for (const key of ['first', 'turns']) backlog.add(key, 5);
    lanes.set('turns', 'attach');
    expect(backlog.add('turns', 6)).toBe(false);
    expect([...backlog.lanes(10)].map(({ waiting }) => waiting)).toEqual([1, 1]);
    expect(backlog.take()).toMatchObject({ key: 'turns', dirtyMs: 5 });
    expect(take(2)).toEqual(['first', undefined]);
  });
});

describe('keys that move', () => {
  it('given a key that moved to the other lane and left its place behind, then it is counted and handed out once, in its new lane', () => {
    let lane: Lane = 'attach';
    const { backlog, take } = aBacklog((key) => (key === 'moves' ? { lane, group: '' } : placeOf(key)));
    backlog.add('moves', 1);
    lane = 'detach';
    expect(backlog.add('moves', 2)).toBe(false);
    backlog.add('attach/a/1', 3);
    backlog.add('detach/a/1', 4);
    const waiting = () => backlog.lanes(10).map((state) => [state.lane, state.waiting, state.oldestWaitingMs]);
    expect([backlog.length, waiting()]).toEqual([
      3,
      [
        ['attach', 1, 7],
        ['detach', 2, 9],
      ],
    ]);
    expect(take(4)).toEqual(['attach/a/1', 'moves', 'detach/a/1', undefined]);
    expect([backlog.length, waiting()]).toEqual([
      0,
      [
        ['attach', 0, 0],
        ['detach', 0, 0],
      ],
    ]);
  });

  it('given a key that moved to another group of its lane, then it waits behind the keys of that group', () => {
    let group = 'a';
    const { backlog, take } = aBacklog((key) => (key === 'moves' ? { lane: 'attach', group } : placeOf(key)));
    for (const key of ['moves', 'attach/a/1', 'attach/b/1']) backlog.add(key, 0);
    group = 'b';
    backlog.add('moves', 0);
    expect(take(4)).toEqual(['attach/b/1', 'attach/a/1', 'moves', undefined]);
  });

  it('given a defect that is reported to no one, then the key waits in the other lane, which shows its age', () => {
    const { backlog } = aBacklog(() => {
      throw new Error('defect');
    });
    backlog.add('a', 3);
    expect(backlog.lanes(10).map(({ waiting, oldestWaitingMs }) => [waiting, oldestWaitingMs])).toEqual([
      [0, 0],
      [1, 7],
    ]);
    expect(backlog.take()?.key).toBe('a');
  });
});

describe('which lane gets a free slot', () => {
  const loaded = (attaches: number, detaches: number) => {
    const fixture = aBacklog();
    for (const key of [...keysOf('attach', 'a', attaches), ...keysOf('detach', 'a', detaches)])
      fixture.backlog.add(key, 0);
    const lanes = (count: number) => fixture.take(count).map((key) => key && placeOf(key).lane);
    return { ...fixture, lanes };
  };

  it('given the credit is used up, then the other lane has every fourth slot of those in flight', () => {
    const { backlog, take, lanes } = loaded(9, 9);
    const [first = ''] = take(1);
    backlog.finished(first, 30_000);
    expect(lanes(6)).toEqual(['detach', 'attach', 'attach', 'attach', 'detach', 'attach']);
  });

  it('given work of the other lane has ended, then the preferred lane has credit again', () => {
    const { backlog, take, lanes } = loaded(9, 9);
    const [first = ''] = take(1);
    backlog.finished(first, 30_000);
    const [second = ''] = take(1);
    backlog.finished(second, 10_000);
    expect(lanes(3)).toEqual(['attach', 'attach', 'attach']);
  });

  it('given preferred work while no key of the other lane waits, then it costs no credit; while one waits, it does', () => {
    const { backlog, take, lanes } = loaded(5, 0);
    const [first = '', second = ''] = take(2);
    backlog.finished(first, 30_000);
    backlog.add('detach/a/1', 0);
    expect(lanes(1)).toEqual(['attach']);
    backlog.finished(second, 30_000);
    expect(lanes(1)).toEqual(['detach']);
  });

  it('given no credit and no key in the other lane, then the preferred lane has the slot', () => {
    const { backlog, take, lanes } = loaded(3, 1);
    const [first = ''] = take(1);
    backlog.finished(first, 30_000);
    expect(lanes(4)).toEqual(['detach', 'attach', 'attach', undefined]);
  });

  it('given no credit, when the other lane has run empty and nothing is in flight, then the preferred lane goes on', () => {
    const { backlog, take, lanes } = loaded(3, 1);
    const [first = ''] = take(1);
    backlog.finished(first, 60_000);
    const [second = ''] = take(1);
    backlog.finished(second, 1);
    expect([second, lanes(3)]).toEqual(['detach/a/0', ['attach', 'attach', undefined]]);
  });

  it('given a key that is not in flight, when it is finished, then nothing changes', () => {
    const { backlog, lanes } = loaded(1, 1);
    backlog.finished('attach/a/0', 60_000);
    backlog.finished('unknown', 60_000);
    expect([backlog.lanes(0).map(({ inFlight }) => inFlight), lanes(2)]).toEqual([
      [0, 0],
      ['attach', 'detach'],
    ]);
  });
});

interface Storm {
  readonly workers: number;
  readonly waiting: readonly string[];
  readonly later?: { readonly afterMs: number; readonly keys: readonly string[] };
  readonly callMs: (key: string) => number;
}

/** Processes all keys in virtual time. Returns the begin and the end of each, in the order in which they began. */
async function workOff({ workers, waiting, later, callMs }: Storm) {
  const clock = new FakeClock();
  const queue = createWorkQueue<string>(
    { clock },
    {
      rateLimiter: itemExponential({ baseMs: 1000, maxMs: 1000 }),
      lanes: { preferred: 'attach', other: 'detach', classify: placeOf },
    },
  );
  for (const key of waiting) queue.add(key);
  const runs: { readonly key: string; readonly beganMs: number; endedMs: number }[] = [];
  let [inFlight, mostInFlight, idleWhileWaiting] = [0, 0, false];
  const stop = new AbortController();
  const running = runWorkers(
    {
      queue,
      workers,
      logger: recordingLogger(),
      reconcile: async (key) => {
        const run = { key, beganMs: clock.monotonicMs(), endedMs: NaN };
        runs.push(run);
        inFlight += 1;
        mostInFlight = Math.max(mostInFlight, inFlight);
        await clock.sleep(callMs(key));
        inFlight -= 1;
        run.endedMs = clock.monotonicMs();
        return done;
      },
    },
    stop.signal,
  );
  if (later !== undefined) clock.timer(later.afterMs, () => later.keys.forEach((key) => queue.add(key)));
  const total = waiting.length + (later?.keys.length ?? 0);
  while (runs.length < total || runs.some((run) => Number.isNaN(run.endedMs))) {
    await settle();
    idleWhileWaiting ||= queue.length > 0 && inFlight < workers;
    await clock.advance(50);
  }
  stop.abort();
  await running;
  const endedMs = Math.max(...runs.map((run) => run.endedMs));
  return { runs, mostInFlight, idleWhileWaiting, endedMs };
}

describe('through the workers', () => {
  it('given 500 detaches of 2 s and 10 workers, when 50 attaches come in the worst moment, then all have ended 2.6 s later, and the detaches lose half a second', async () => {
    const callMs = (key: string) => (placeOf(key).lane === 'attach' ? 100 : 2000);
    const attaches = keysOf('attach', 'a', 50);
    const { runs, mostInFlight, endedMs } = await workOff({
      workers: 10,
      waiting: keysOf('detach', 'b', 500),
      later: { afterMs: 4001, keys: attaches },
      callMs,
    });
    const lastAttachMs = Math.max(...runs.filter(({ key }) => key.startsWith('attach')).map((run) => run.endedMs));
    expect(lastAttachMs - 4001).toBeLessThan(2600);
    expect([mostInFlight, endedMs]).toEqual([10, 100_500]);
  });

  it('given one worker, then calls are strictly sequential in either direction', async () => {
    const { mostInFlight, endedMs } = await workOff({
      workers: 1,
      waiting: [...keysOf('detach', 'a', 5), ...keysOf('attach', 'a', 5)],
      callMs: () => 1000,
    });
    expect([mostInFlight, endedMs]).toEqual([1, 10_000]);
  });

  it('given more attaches than can be worked off, then detaches have a quarter of the slot time', async () => {
    const { runs } = await workOff({
      workers: 10,
      waiting: [...keysOf('attach', 'a', 3000), ...keysOf('detach', 'b', 500)],
      callMs: () => 1000,
    });
    const detachesUntil = (ms: number) =>
      runs.filter(({ key, endedMs }) => key.startsWith('detach') && endedMs <= ms).length;
    expect(detachesUntil(3000)).toBe(0);
    expect(detachesUntil(100_000) / 1000).toBeCloseTo(0.25, 1);
  });

  it('given a node with many attaches, then those of another node do not wait for them', async () => {
    const { runs } = await workOff({
      workers: 2,
      waiting: [...keysOf('attach', 'busy', 50), ...keysOf('attach', 'other', 2)],
      callMs: () => 1000,
    });
    const began = runs.filter(({ key }) => key.startsWith('attach/other')).map(({ beganMs }) => beganMs);
    expect(began).toEqual([0, 1000]);
  });
});

describe('for any load', () => {
  const anArrival = fc.record({
    lane: fc.constantFrom<Lane>('attach', 'detach'),
    node: fc.constantFrom('a', 'b', 'c'),
    callMs: fc.constantFrom(0, 50, 100, 2000, 15_000),
  });

  it('given random keys and workers, then none is lost, no more than the workers run, none idles while a key waits, and nodes take turns', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anArrival, { maxLength: 40 }),
        fc.array(anArrival, { maxLength: 40 }),
        fc.integer({ min: 1, max: 12 }),
        async (first, second, workers) => {
          const calls = new Map<string, number>();
          const named = (arrivals: typeof first): readonly string[] =>
            arrivals.map(({ lane, node, callMs }) => {
              const key = `${lane}/${node}/${calls.size}`;
              calls.set(key, callMs);
              return key;
            });
          const waiting = named(first);
          const later = { afterMs: 1000, keys: named(second) };
          const { runs, mostInFlight, idleWhileWaiting } = await workOff({
            workers,
            waiting,
            later,
            callMs: (key) => calls.get(key) ?? 0,
          });
          expect(runs.map(({ key }) => key).toSorted()).toEqual([...calls.keys()].toSorted());
          expect(mostInFlight).toBeLessThanOrEqual(workers);
          expect(idleWhileWaiting).toBe(false);
          for (const lane of ['attach', 'detach'] as const) expectTurns(runs, waiting, lane);
        },
      ),
      { seed: 1, numRuns: 60 },
    );
  });
});

/** While two nodes wait from the beginning, neither begins twice in a lane without the other. */
function expectTurns(runs: readonly { readonly key: string }[], waiting: readonly string[], lane: Lane): void {
  const begun = runs.map(({ key }) => key).filter((key) => waiting.includes(key) && placeOf(key).lane === lane);
  const left = new Map<string, number>();
  for (const key of begun) left.set(placeOf(key).group, (left.get(placeOf(key).group) ?? 0) + 1);
  const turns = new Map<string, number>();
  for (const key of begun) {
    const { group } = placeOf(key);
    turns.set(group, (turns.get(group) ?? 0) + 1);
    left.set(group, (left.get(group) ?? 0) - 1);
    for (const [other, waits] of left) {
      if (waits > 0) expect((turns.get(group) ?? 0) - (turns.get(other) ?? 0)).toBeLessThanOrEqual(1);
    }
  }
}

describe('places', () => {
  it('given any keys of two lanes and some handed out, then the place of a key is the number of keys of its lane up to it', () => {
    const keys = fc.uniqueArray(
      fc
        .tuple(fc.constantFrom('attach', 'detach'), fc.constantFrom('a', 'b', 'c', 'd'), fc.nat(9))
        .map((parts) => parts.join('/')),
      { minLength: 1, maxLength: 30 },
    );
    fc.assert(
      fc.property(keys, fc.nat(10), (all, taken) => {
        const { backlog, take } = aBacklog();
        for (const [at, key] of all.entries()) backlog.add(key, at);
        take(Math.min(taken, all.length - 1));
        const places = new Map(all.map((key) => [key, backlog.placeOf(key)?.place]));
        const depths = new Map(['attach', 'detach'].map((lane) => [lane, 0]));
        for (let key = backlog.take()?.key; key !== undefined; key = backlog.take()?.key) {
          const { lane } = placeOf(key);
          const place = (depths.get(lane) ?? 0) + 1;
          depths.set(lane, place);
          expect([key, places.get(key)]).toEqual([key, place]);
        }
      }),
      { seed: 17, numRuns: 300 },
    );
  });

  it('given a key that waits, then its lane, the depth of the lane and its age are known; of a key that does not wait nothing is', () => {
    const { backlog } = aBacklog();
    for (const key of ['attach/a/1', 'detach/a/1', 'detach/b/1']) backlog.add(key, 7);
    expect(backlog.placeOf('detach/b/1')).toEqual({ lane: 'detach', place: 2, depth: 2, sinceMs: 7 });
    expect([backlog.placeOf('detach/c/1'), backlog.oldestMs()]).toEqual([undefined, 7]);
  });
});
