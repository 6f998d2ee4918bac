// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { supervise } from './supervised-process.ts';

let folder: string;
/** Every run writes a line here, so that a test can wait for it. */
let announcements: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'supervise-test-'));
  announcements = join(folder, 'announcements');
  execFileSync('mkfifo', [announcements]);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const spec = (end: string): Parameters<typeof supervise>[0] => ({
  name: 'sh',
  command: '/bin/sh',
  args: ['-c', `echo > ${announcements}; ${end}`],
  logFile: join(folder, 'sh.log'),
});

it('given a process that is killed, then it runs again, and its end is recorded', async () => {
  const clock = new FakeClock();
  await using child = await supervise(spec('exec sleep 60'), clock);
  await readFile(announcements);
  const first = child.pid;

  await child.kill();
  await clock.advance(200);
  await readFile(announcements);

  expect(child.exits).toMatchObject([{ signal: 'SIGKILL' }]);
  expect(child.pid).toBeDefined();
  expect(child.pid).not.toBe(first);
});

it('given a process that was stopped, then it stays down until it is started', async () => {
  const clock = new FakeClock();
  await using child = await supervise(spec('exec sleep 60'), clock);
  await readFile(announcements);

  expect(await child.stop()).toMatchObject({ signal: 'SIGTERM' });
  await clock.advance(10_000);
  expect(child.pid).toBeUndefined();

  await child.start();
  await readFile(announcements);
  expect(child.exits).toHaveLength(1);
});

it('given a process that ended by itself, when stopped between two runs, then it is not started again', async () => {
  const clock = new FakeClock();
  const child = await supervise(spec('exit 7'), clock);
  await readFile(announcements);
  while (child.pid !== undefined) await clock.advance(0);

  const stopped = child.stop();
  await clock.advance(10_000);

  expect(await stopped).toMatchObject({ code: 7 });
  expect(child.exits).toHaveLength(1);
});
