// SPDX-License-Identifier: Apache-2.0
/**
 * Keeps the memory of an idle process near what it holds. Left alone, V8 lets the young generation grow to 64 MiB
 * and more within seconds of work, and gives nothing back to a process that then does little: most sidecars, most of the time.
 *
 * Looked at once a second, as a table:
 *
 * | Young generation | Event loop | Committed since the last collection | Next | Action |
 * |---|---|---|---|---|
 * | small | busy for two seconds | anything | grown | grow it once: scavenging a small one costs a tenth of the work |
 * | grown | busy | anything | grown | |
 * | any | idle for three seconds | much | small | collect everything, give the pages back |
 * | any | idle for three seconds | little | same | |
 * | any | anything else | anything | same | |
 *
 * Busy is at least half of a second, idle less than a tenth of it. A start is shorter than two seconds.
 *
 * A collection stops the process for about 3 ms per MiB that it holds. What it leaves is what the next is measured by, so a
 * process that holds much is not collected again and again for nothing.
 */
import type { Clock } from '../clock/clock.ts';

/** The heap of this process, as far as it is needed here. */
export interface HeapPort {
  /** Share of the time since it was last asked that the event loop was busy, 0 to 1. */
  readonly busyShare: () => number;
  /** What the heap takes from the system, used or not. */
  readonly committedBytes: () => number;
  readonly growYoungGeneration: () => void;
  /** Everything that can be collected; the young generation is small again afterwards. */
  readonly collect: () => void;
}

export interface HeapState {
  readonly young: 'small' | 'grown';
  /** What the last samples have in common, and how many they are. */
  readonly load: Load;
  readonly samples: number;
  /** Committed when there was last nothing to gain. */
  readonly neededBytes: number;
}

type Load = 'idle' | 'some' | 'busy';

export interface HeapSample {
  readonly busyShare: number;
  readonly committedBytes: number;
}

export type HeapAction = 'nothing' | 'grow' | 'collect';

const sampleMs = 1000;
const busyFrom = 0.5;
const idleBelow = 0.1;
const busySamplesNeeded = 2;
const idleSamplesNeeded = 3;
const worthBytes = 8 * 2 ** 20;
/** Of a large heap a larger gain is asked for, because its collection takes longer. */
const worthShare = 0.25;

/** Collects while idle until disposed. Does not keep the process alive. */
export function keepHeapSmall({ heap, clock }: { readonly heap: HeapPort; readonly clock: Clock }): Disposable {
  let state: HeapState = { young: 'small', load: 'some', samples: 0, neededBytes: heap.committedBytes() };
  heap.busyShare();
  const look = (): void => {
    const { next, action } = heapStep(state, { busyShare: heap.busyShare(), committedBytes: heap.committedBytes() });
    state = next;
    if (action === 'grow') heap.growYoungGeneration();
    if (action === 'collect') {
      heap.collect();
      state = { ...state, neededBytes: heap.committedBytes() };
    }
    timer = clock.timer(sampleMs, look);
  };
  let timer = clock.timer(sampleMs, look);
  return { [Symbol.dispose]: () => timer.cancel() };
}

export function heapStep(
  state: HeapState,
  { busyShare, committedBytes }: HeapSample,
): { readonly next: HeapState; readonly action: HeapAction } {
  const load = busyShare >= busyFrom ? 'busy' : busyShare < idleBelow ? 'idle' : 'some';
  const seen = { ...state, load, samples: load === state.load ? state.samples + 1 : 1 } as const;
  if (load === 'busy' && seen.samples >= busySamplesNeeded && state.young === 'small') {
    return { next: { ...seen, young: 'grown' }, action: 'grow' };
  }
  const gain = committedBytes - state.neededBytes;
  const isWorth = gain >= Math.max(worthBytes, state.neededBytes * worthShare);
  if (load === 'idle' && seen.samples >= idleSamplesNeeded && isWorth) {
    return { next: { ...seen, young: 'small', samples: 0 }, action: 'collect' };
  }
  return { next: seen, action: 'nothing' };
}
