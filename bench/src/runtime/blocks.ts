// SPDX-License-Identifier: Apache-2.0
/** How long the event loop is blocked, to the millisecond. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Row } from './report.ts';

export interface Blocks {
  readonly longestMs: number;
  readonly p999Ms: number;
}

export function watchLoop(): { stop(): Blocks } {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  return {
    stop() {
      delay.disable();
      return { longestMs: delay.max / 1e6, p999Ms: delay.percentile(99.9) / 1e6 };
    },
  };
}

export function blockRows(name: string, { longestMs, p999Ms }: Blocks): readonly Row[] {
  return [
    { measure: `${name}: longest block`, value: longestMs, unit: 'ms', budget: { atMost: 100 } },
    { measure: `${name}: block p99.9`, value: p999Ms, unit: 'ms', budget: { atMost: 50 } },
  ];
}
