// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import type { LineWriter } from './line-writer.ts';
import { silentLogger } from './logger.ts';
import { openLog } from './open-log.ts';

it('given a logger that takes the place of the first, then lines and the notice about dropped lines are in its format', () => {
  const written: string[] = [];
  let notice = (_count: number): string => '';
  const clock = new FakeClock();
  const stderr: LineWriter = {
    write: (line) => void written.push(line),
    dropped: 0,
    flush: () => Promise.resolve(),
    flushSync: () => undefined,
  };
  const openStderr = (dropNotice: (count: number) => string): LineWriter => {
    notice = dropNotice;
    return stderr;
  };
  const { log, writer, replace } = openLog({ clock, openStderr }, { program: 'p', pid: 1, verbosity: 0 });
  expect(writer).toBe(stderr);
  log.info(0, 'begun');
  expect(written).toEqual([expect.stringMatching(/^I\d{4} .* p:0\] "begun"\n$/)]);
  expect(notice(3)).toMatch(/^W\d{4} .*\] "Log lines were dropped because the reader was too slow" count=3\n$/);
  const other = replace(({ nowMs, write }) => ({
    ...silentLogger,
    info: (_level, message) => write(`info ${message} at ${nowMs()}\n`),
    warn: (message, facts) => write(`warn ${message} ${JSON.stringify(facts)}\n`),
  }));
  other.info(0, 'on');
  expect(written.slice(1)).toEqual([`info on at ${clock.nowMs()}\n`]);
  expect(notice(4)).toBe('warn Log lines were dropped because the reader was too slow {"count":4}\n');
  replace(() => silentLogger);
  expect(notice(5)).toBe('');
});
