// SPDX-License-Identifier: Apache-2.0
/**
 * Keeps the memory of an idle process near what it holds. Left alone, V8 lets the young generation grow to 64 MiB
 * and more within seconds of work, and gives nothing back to a process that then does little: most sidecars, most of the time.
 *
 * Looked at once a second, as a table:
 *
 * | Young generation | Event loop | Committed since the last collection | Next | Action |
 * |---|---|---|---|---|
 * | small | worked 0.6 s without an idle second between | anything | grown | grow it once: scavenging a small one costs a tenth of the work |
 * | grown | not idle | anything | grown | |
 * | any | idle for three seconds | much | small | collect everything, give the pages back |
 * | any | idle for three seconds | little | same | |
 * | any | idle for less | anything | same | |
 *
 * A second is idle when less than a tenth of it is work. A start takes less work than 0.6 s.
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
  /** Since the last idle second; 0 in one. */
  readonly workedMs: number;
  /** Idle seconds since there was work, or a collection. */
  readonly idleSamples: number;
  /** Committed when there was last nothing to gain. */
  readonly neededBytes: number;
}

export interface HeapSample {
  readonly busyShare: number;
  readonly committedBytes: number;
}

export type HeapAction = 'nothing' | 'grow' | 'collect';

const sampleMs = 1000;
const idleBelow = 0.1;
const growAfterMs = 600;
const idleSamplesNeeded = 3;
const worthBytes = 8 * 2 ** 20;
/** A large heap must promise a larger gain, because its collection takes longer. */
const worthShare = 0.25;

/** Collects while idle until disposed. Does not keep the process alive. */
export function keepHeapSmall({ heap, clock }: { readonly heap: HeapPort; readonly clock: Clock }): Disposable {
  let state: HeapState = { young: 'small', workedMs: 0, idleSamples: 0, neededBytes: heap.committedBytes() };
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
  if (busyShare >= idleBelow) {
    const workedMs = state.workedMs + busyShare * sampleMs;
    const action = state.young === 'small' && workedMs >= growAfterMs ? 'grow' : 'nothing';
    return { next: { ...state, young: action === 'grow' ? 'grown' : state.young, workedMs, idleSamples: 0 }, action };
  }
  const idleSamples = state.idleSamples + 1;
  const gain = committedBytes - state.neededBytes;
  const isWorth = gain >= Math.max(worthBytes, state.neededBytes * worthShare);
  if (idleSamples >= idleSamplesNeeded && isWorth) {
    return { next: { ...state, young: 'small', workedMs: 0, idleSamples: 0 }, action: 'collect' };
  }
  return { next: { ...state, workedMs: 0, idleSamples }, action: 'nothing' };
}
