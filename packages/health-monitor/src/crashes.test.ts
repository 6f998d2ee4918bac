// SPDX-License-Identifier: Apache-2.0
/** The process is killed before and after each request of a story; the next one finishes it. */
import { expect, it } from 'vitest';
import {
  aClaim,
  aPair,
  aVolume,
  degraded,
  inaccessible,
  storedDegraded,
  storedInaccessible,
} from '../testing/builders.ts';
import { aMonitor } from '../testing/monitor-fixture.ts';

const seed = [
  ...aPair(2),
  aVolume(),
  aClaim({ health: storedDegraded }),
  aVolume({ name: 'pv3' }),
  aClaim({ volumeName: 'pv3', health: storedDegraded }),
];
/** One claim gets health, one gets other health, one loses its health. */
const reports = { 'volume-1': inaccessible, 'volume-2': degraded };

it.each(['list', 'get'] as const)(
  'given a process that dies at any request, and a driver that is asked to %s, then the next process shows the same',
  async (mode) => {
    const operations: string[] = [];
    const whole = await aMonitor({
      mode,
      seed,
      reports,
      interrupt: (operation, moment) => void operations.push(`${moment} ${operation}`),
    });
    await whole.cycle();
    expect(operations.length).toBeGreaterThanOrEqual(6);
    for (let place = 0; place < operations.length; place += 1) {
      let at = 0;
      const dead = await aMonitor({ mode, seed, reports, interrupt: () => (at++ === place ? 'crash' : undefined) });
      await dead.cycle();
      const cluster = dead.crash();
      const next = await aMonitor({ mode, reports, cluster });
      await next.cycle();
      const shown = [next.shown(), next.shown('data-2'), next.shown('data-3')];
      expect(shown, operations[place]).toEqual([storedInaccessible, storedDegraded, undefined]);
      await next.stop();
    }
  },
);
