// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock, recordingLogger } from '../../testing/index.ts';
import { throttleLog } from './throttle-log.ts';

it.each([
  { verbosity: -1, waitedMs: 5000, seconds: [0, 10], logged: [] },
  { verbosity: 0, waitedMs: 1000, seconds: [0], logged: [] },
  { verbosity: 0, waitedMs: 1001, seconds: [0, 9.999, 10, 19.999, 20], logged: ['0@0', '0@10', '0@20'] },
  { verbosity: 2, waitedMs: 5000, seconds: [0, 0.999, 1], logged: ['2@0', '2@1'] },
  { verbosity: 3, waitedMs: 50, seconds: [0], logged: [] },
  { verbosity: 3, waitedMs: 51, seconds: [0, 0], logged: ['3@0', '3@0'] },
])('given verbosity $verbosity and waits of $waitedMs ms, then not all are logged', async (row) => {
  const clock = new FakeClock();
  const logger = recordingLogger({ verbosity: row.verbosity });
  const log = throttleLog(clock, logger);
  const logged: string[] = [];
  for (const second of row.seconds) {
    await clock.advance(second * 1000 - clock.monotonicMs());
    const before = logger.lines.length;
    log(row.waitedMs, { method: 'GET', path: '/x' });
    for (const line of logger.lines.slice(before)) logged.push(`${line.kind === 'info' && line.level}@${second}`);
  }
  expect(logged).toEqual(row.logged);
});
