// SPDX-License-Identifier: Apache-2.0
/** How much of the machine is in use (Linux): at full load, latencies measure queues and not the program. */
import { readFileSync } from 'node:fs';

export interface ProcessorTimes {
  /** Ticks of all processors together since the machine started. */
  readonly idle: number;
  readonly total: number;
}

export function processorTimes(): ProcessorTimes {
  const [first = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  // user, nice, system, idle, iowait, irq, softirq, steal; guest times are part of the first two.
  const ticks = first.split(/\s+/).slice(1, 9).map(Number);
  const [, , , idle = 0, iowait = 0] = ticks;
  return { idle: idle + iowait, total: ticks.reduce((sum, each) => sum + each, 0) };
}

/** From 0 to 1. */
export function busyShareSince(before: ProcessorTimes): number {
  const now = processorTimes();
  return 1 - (now.idle - before.idle) / Math.max(1, now.total - before.total);
}
