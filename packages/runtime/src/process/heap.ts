// SPDX-License-Identifier: Apache-2.0
/**
 * Keeps the memory of an idle process close to what the process uses. By default V8 lets the young generation grow to 64 MiB
 * and more within seconds of work, and returns no memory to the system while a process does little. Most sidecars do little
 * most of the time.
 *
 * The rules, applied once a second:
 *
 * | Young generation | Event loop | Committed since the last collection | Next | Action |
 * |---|---|---|---|---|
 * | small | worked 0.6 s without an idle second between | anything | grown | grow it once: scavenging a small one costs a tenth of the work |
 * | grown | not idle | anything | grown | |
 * | any | idle for three seconds | much, the heap is not too large, and the wait after the last collection is over | small | collect everything, return the pages |
 * | any | idle for three seconds | little, or the heap is too large, or that wait is not over | same | |
 * | any | idle for less | anything | same | |
 *
 * A second is idle when work takes less than a tenth of it. Starting a program takes less than 0.6 s of work.
 *
 * A collection stops the process for 3 to 6 ms per MiB in use, and several times as long where the CPU is limited. A leader
 * that stands still for ten seconds loses its lease, so a heap above 128 MiB is never collected here, and neither is a heap
 * half as large as one whose collection took more than a second. V8 still collects such a heap by itself, in small steps.
 *
 * The next collection waits 500 times as long as the last one took, and at most a minute. A program that works for a second out of ten, as one that polls
 * capacity does, would spend a sixth of its CPU time on them.
 *
 * The gain is measured against what the last collection left, so that a process that uses much memory is not collected
 * again and again in vain. Before the first one all memory counts as gain: a start leaves 7 MiB that are not needed any more.
 */
import type { Clock } from '../clock/clock.ts';

/** The parts of V8's heap that these rules need. */
export interface HeapPort {
  /** The share of time that the event loop was busy since the last call, 0 to 1. */
  readonly busyShare: () => number;
  /** The memory that the heap has taken from the system, whether it is in use or not. */
  readonly committedBytes: () => number;
  readonly growYoungGeneration: () => void;
  /** Collects all garbage. The young generation is small again afterwards. */
  readonly collect: () => void;
}

export interface HeapState {
  readonly young: 'small' | 'grown';
  /** Work since the last idle second. */
  readonly workedMs: number;
  /** Idle seconds since the last work or the last collection. */
  readonly idleSamples: number;
  /** The committed bytes after the last collection; 0: there was none. */
  readonly neededBytes: number;
  /** Seconds until the next collection may be. */
  readonly restSamples: number;
  /** A larger heap is not collected. */
  readonly limitBytes: number;
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
const worthBytes = 4 * 2 ** 20;
/** The collection of a large heap takes longer, so the gain must be larger. */
const worthShare = 0.25;
const firstLimitBytes = 128 * 2 ** 20;
const restShare = 500;
/** After work, memory is back within a minute. */
const mostRestSamples = 60;
/** A tenth of the usual renew deadline of a lease. */
const longPauseMs = 1000;

/** Applies the rules until it is disposed. Its timer does not keep the process alive. */
export function keepHeapSmall({ heap, clock }: { readonly heap: HeapPort; readonly clock: Clock }): Disposable {
  let state: HeapState = {
    young: 'small',
    workedMs: 0,
    idleSamples: 0,
    neededBytes: 0,
    restSamples: 0,
    limitBytes: firstLimitBytes,
  };
  heap.busyShare();
  const look = (): void => {
    const sample = { busyShare: heap.busyShare(), committedBytes: heap.committedBytes() };
    const { next, action } = heapStep(state, sample);
    state = next;
    if (action === 'grow') heap.growYoungGeneration();
    if (action === 'collect') {
      const startedMs = clock.monotonicMs();
      heap.collect();
      const tookMs = clock.monotonicMs() - startedMs;
      state = {
        ...state,
        neededBytes: heap.committedBytes(),
        restSamples: Math.min(mostRestSamples, Math.ceil((tookMs * restShare) / sampleMs)),
        limitBytes: tookMs > longPauseMs ? sample.committedBytes / 2 : state.limitBytes,
      };
    }
    timer = clock.timer(sampleMs, look);
  };
  let timer = clock.timer(sampleMs, look);
  return { [Symbol.dispose]: () => timer.cancel() };
}

export function heapStep(
  before: HeapState,
  { busyShare, committedBytes }: HeapSample,
): { readonly next: HeapState; readonly action: HeapAction } {
  const state = { ...before, restSamples: Math.max(0, before.restSamples - 1) };
  if (busyShare >= idleBelow) {
    const workedMs = state.workedMs + busyShare * sampleMs;
    const action = state.young === 'small' && workedMs >= growAfterMs ? 'grow' : 'nothing';
    return { next: { ...state, young: action === 'grow' ? 'grown' : state.young, workedMs, idleSamples: 0 }, action };
  }
  const idleSamples = state.idleSamples + 1;
  const gain = committedBytes - state.neededBytes;
  const isWorth = gain >= Math.max(worthBytes, state.neededBytes * worthShare);
  const isShort = committedBytes <= state.limitBytes;
  if (idleSamples >= idleSamplesNeeded && isWorth && isShort && state.restSamples === 0) {
    return { next: { ...state, young: 'small', workedMs: 0, idleSamples: 0 }, action: 'collect' };
  }
  return { next: { ...state, workedMs: 0, idleSamples }, action: 'nothing' };
}
