// SPDX-License-Identifier: Apache-2.0
/**
 * The CPU time of some tasks of this thread. Pauses of the garbage collector are left out: they grow with the heap, which holds the API
 * server, the kubelets and every program at once, and so they belong to no program.
 */
import { PerformanceObserver } from 'node:perf_hooks';

export interface TaskCpu {
  /** A task begins. */
  begin(): void;
  /** The task has ended, and counts. */
  count(): void;
  /** Milliseconds of what has counted. Call it once; a pause in the last turn of the event loop may not be known yet. */
  totalMs(): number;
}

export function measureTaskCpu(): TaskCpu {
  const pauses: { readonly startTime: number; readonly duration: number }[] = [];
  const observer = new PerformanceObserver((list) => pauses.push(...list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  /** Beginning and end of each task that counts, one after the other. */
  const spans: number[] = [];
  let sumMs = 0;
  let begun = { at: 0, cpuMs: 0 };
  return {
    begin() {
      begun = { at: performance.now(), cpuMs: cpuMs() };
    },
    count() {
      sumMs += cpuMs() - begun.cpuMs;
      spans.push(begun.at, performance.now());
    },
    totalMs() {
      pauses.push(...observer.takeRecords());
      observer.disconnect();
      let next = 0;
      let pausedMs = 0;
      for (const { startTime, duration } of pauses) {
        while (spans[next + 1]! < startTime) next += 2;
        if (spans[next]! <= startTime) pausedMs += duration;
      }
      return sumMs - pausedMs;
    },
  };
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
