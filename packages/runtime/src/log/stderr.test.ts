// SPDX-License-Identifier: Apache-2.0
/** The log of a real process whose reader does not read. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

const program = join(import.meta.dirname, '../../testing/flood-stderr.ts');

const start = (mode: 'flush' | 'exit'): ChildProcessByStdio<null, Readable, Readable> =>
  spawn(process.execPath, [program, mode], { stdio: ['ignore', 'pipe', 'pipe'] });

it('given a reader that comes late, then every line has arrived or is counted as dropped', async () => {
  const child = start('flush');
  const [wrote] = (await once(child.stdout, 'data')) as [Buffer];
  const [log, report] = await Promise.all([text(child.stderr), text(child.stdout)]);
  const lines = log.trimEnd().split('\n');
  const notices = lines.flatMap((line) => /^dropped (\d+)$/.exec(line)?.[1] ?? []);
  const dropped = notices.reduce((sum, count) => sum + Number(count), 0);
  expect(dropped).toBeGreaterThan(0);
  expect(String(wrote) + report).toBe(`wrote\ndropped ${dropped}\n`);
  expect(lines.length - notices.length + dropped).toBe(20_000);
});

it('given a reader that never reads, then the process still ends with its exit code', async () => {
  const child = start('exit');
  child.stdout.resume();
  const [code] = (await once(child, 'exit')) as [number];
  expect(code).toBe(3);
  child.stderr.destroy();
});
