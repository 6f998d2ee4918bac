// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../testing/fake-clock.ts';
import { type HeapAction, type HeapState, heapStep, keepHeapSmall } from './heap.ts';

const MiB = 2 ** 20;
const small: HeapState = {
  young: 'small',
  workedMs: 0,
  idleSamples: 0,
  neededBytes: 16 * MiB,
  restSamples: 0,
  limitBytes: 128 * MiB,
};
const grown: HeapState = { ...small, young: 'grown' };
const large: HeapState = { ...small, neededBytes: 100 * MiB };

interface Seen {
  readonly busy: number;
  readonly mib: number;
}
interface Actions {
  readonly next: HeapState;
  readonly action: HeapAction;
}

describe('the table', () => {
  it.each<readonly [HeapState, Seen, Actions]>([
    [small, { busy: 0.5, mib: 90 }, { next: { ...small, workedMs: 500 }, action: 'nothing' }],
    [small, { busy: 0.6, mib: 16 }, { next: { ...grown, workedMs: 600 }, action: 'grow' }],
    [
      { ...small, workedMs: 500 },
      { busy: 0.1, mib: 90 },
      { next: { ...grown, workedMs: 600 }, action: 'grow' },
    ],
    [
      { ...grown, workedMs: 600 },
      { busy: 1, mib: 90 },
      { next: { ...grown, workedMs: 1600 }, action: 'nothing' },
    ],
    [
      { ...small, workedMs: 500 },
      { busy: 0.05, mib: 16 },
      { next: { ...small, idleSamples: 1 }, action: 'nothing' },
    ],
    [
      { ...grown, idleSamples: 2 },
      { busy: 0.1, mib: 90 },
      { next: { ...grown, workedMs: 100 }, action: 'nothing' },
    ],
    [
      { ...grown, idleSamples: 1 },
      { busy: 0.01, mib: 90 },
      { next: { ...grown, idleSamples: 2 }, action: 'nothing' },
    ],
    [
      { ...grown, idleSamples: 2, workedMs: 500 },
      { busy: 0.01, mib: 90 },
      { next: small, action: 'collect' },
    ],
    [
      { ...small, idleSamples: 2 },
      { busy: 0.09, mib: 20 },
      { next: small, action: 'collect' },
    ],
    [
      { ...small, idleSamples: 2 },
      { busy: 0.01, mib: 19.9 },
      { next: { ...small, idleSamples: 3 }, action: 'nothing' },
    ],
    [
      { ...small, idleSamples: 9 },
      { busy: 0.01, mib: 20 },
      { next: small, action: 'collect' },
    ],
    [
      { ...large, idleSamples: 2 },
      { busy: 0, mib: 124 },
      { next: { ...large, idleSamples: 3 }, action: 'nothing' },
    ],
    [
      { ...large, idleSamples: 2 },
      { busy: 0, mib: 125 },
      { next: large, action: 'collect' },
    ],
    [
      { ...small, idleSamples: 2 },
      { busy: 0, mib: 128 },
      { next: small, action: 'collect' },
    ],
    [
      { ...small, idleSamples: 2 },
      { busy: 0, mib: 129 },
      { next: { ...small, idleSamples: 3 }, action: 'nothing' },
    ],
    [
      { ...small, idleSamples: 2, restSamples: 2 },
      { busy: 0, mib: 90 },
      { next: { ...small, idleSamples: 3, restSamples: 1 }, action: 'nothing' },
    ],
    [
      { ...small, idleSamples: 3, restSamples: 1 },
      { busy: 0, mib: 90 },
      { next: small, action: 'collect' },
    ],
    [
      { ...small, restSamples: 9 },
      { busy: 1, mib: 90 },
      { next: { ...grown, workedMs: 1000, restSamples: 8 }, action: 'grow' },
    ],
  ])('given the state %o and the sample %o, then %o', (state, { busy, mib }, actions) => {
    expect(heapStep(state, { busyShare: busy, committedBytes: mib * MiB })).toEqual(actions);
  });
});

describe('keepHeapSmall', () => {
  /** Records the actions on the heap with their second. A collection takes `pauseMs` and leaves `heldMib`. */
  function aHeap({ busyBefore }: { readonly busyBefore?: number } = {}) {
    const clock = new FakeClock();
    let unmeasured = busyBefore;
    const actions: string[] = [];
    const heap = { busy: 0, mib: 16, heldMib: 20, pauseMs: 40 };
    let pausedMs = 0;
    const kept = keepHeapSmall({
      clock: {
        nowMs: () => clock.nowMs(),
        sleep: (ms, signal) => clock.sleep(ms, signal),
        timer: (ms, fire) => clock.timer(ms, fire),
        yieldToLoop: () => clock.yieldToLoop(),
        monotonicMs: () => clock.monotonicMs() + pausedMs,
      },
      heap: {
        busyShare: () => {
          const share = unmeasured ?? heap.busy;
          unmeasured = undefined;
          return share;
        },
        committedBytes: () => heap.mib * MiB,
        growYoungGeneration: () => actions.push(`grow@${clock.monotonicMs()}`),
        collect: () => {
          actions.push(`collect@${clock.monotonicMs()}`);
          heap.mib = heap.heldMib;
          pausedMs += heap.pauseMs;
        },
      },
    });
    return { clock, actions, heap, kept };
  }

  it('given a burst of work, when it is over, then the young generation has grown once and the heap is collected once', async () => {
    const { clock, actions, heap } = aHeap();
    await clock.advance(2000);
    [heap.busy, heap.mib] = [0.9, 80];
    await clock.advance(5000);
    heap.busy = 0.02;
    await clock.advance(60_000);
    expect(actions).toEqual(['grow@3000', 'collect@10000']);
  });

  it('given work for a second out of ten, then a collection rests 500 times as long as it took, and the young generation stays grown', async () => {
    const { clock, actions, heap } = aHeap();
    for (let round = 0; round < 9; round += 1) {
      [heap.busy, heap.mib] = [0.9, 80];
      await clock.advance(1000);
      heap.busy = 0;
      await clock.advance(9000);
    }
    expect(actions).toEqual([
      'grow@1000',
      'collect@4000',
      'grow@11000',
      'collect@24000',
      'grow@31000',
      'collect@44000',
      'grow@51000',
      'collect@64000',
      'grow@71000',
      'collect@84000',
    ]);
  });

  it('given a start, when the process is idle for three seconds, then what the start left is collected, once', async () => {
    const { clock, actions, heap } = aHeap();
    heap.heldMib = 15;
    await clock.advance(60_000);
    expect(actions).toEqual(['collect@3000']);
  });

  it.each([
    { busy: 0.6, growsAt: 1000 },
    { busy: 0.599, growsAt: 2000 },
  ])(
    'given a start that works $busy of each second, then the young generation is grown after $growsAt ms',
    async (row) => {
      const { clock, actions, heap } = aHeap();
      heap.busy = row.busy;
      await clock.advance(10_000);
      expect(actions).toEqual([`grow@${row.growsAt}`]);
    },
  );

  it.each([
    { mib: 4, expected: ['collect@3000'] },
    { mib: 3.9, expected: [] },
  ])('given a start that left $mib MiB, when the process is idle, then $expected', async ({ mib, expected }) => {
    const { clock, actions, heap } = aHeap();
    [heap.mib, heap.heldMib] = [mib, mib];
    await clock.advance(10_000);
    expect(actions).toEqual(expected);
  });

  it('given a process that was busy before, then only its work from now on counts', async () => {
    const { clock, actions, heap } = aHeap({ busyBefore: 1 });
    heap.busy = 0.5;
    await clock.advance(1_000);
    expect(actions).toEqual([]);
  });

  it('given a heap of which everything is in use, when the process is idle, then the heap is collected again only after it grew by a quarter', async () => {
    const { clock, actions, heap } = aHeap();
    [heap.mib, heap.heldMib] = [100, 100];
    await clock.advance(60_000);
    expect(actions).toEqual(['collect@3000']);
    heap.mib = 124;
    await clock.advance(60_000);
    heap.mib = 125;
    await clock.advance(60_000);
    expect(actions).toEqual(['collect@3000', 'collect@121000']);
  });

  it('given a heap whose collection could outlast the renewal of a lease, when the process is idle, then it is not collected', async () => {
    const { clock, actions, heap } = aHeap();
    heap.mib = 1000;
    await clock.advance(600_000);
    heap.mib = 129;
    await clock.advance(10_000);
    expect(actions).toEqual([]);
    heap.mib = 128;
    await clock.advance(10_000);
    expect(actions).toEqual(['collect@611000']);
  });

  it('given a collection that took more than a second, then only heaps of half that size are collected', async () => {
    const { clock, actions, heap } = aHeap();
    [heap.mib, heap.pauseMs] = [100, 1001];
    await clock.advance(70_000);
    heap.mib = 51;
    await clock.advance(10_000);
    expect(actions).toEqual(['collect@3000']);
    heap.mib = 50;
    await clock.advance(10_000);
    expect(actions).toEqual(['collect@3000', 'collect@81000']);
  });

  it('given a collection that took a second, then heaps of that size are collected again, a minute later', async () => {
    const { clock, actions, heap } = aHeap();
    [heap.mib, heap.pauseMs] = [100, 1000];
    await clock.advance(10_000);
    heap.mib = 100;
    await clock.advance(60_000);
    expect(actions).toEqual(['collect@3000', 'collect@63000']);
  });

  it('given that it is disposed, then no timer is left', async () => {
    const { clock, kept } = aHeap();
    await clock.advance(1500);
    kept[Symbol.dispose]();
    expect(clock.pending).toBe(0);
  });
});
