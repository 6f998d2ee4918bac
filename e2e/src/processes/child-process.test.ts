// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { describeExit, logTail, startProcess, type ProcessSpec } from './child-process.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'process-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function shell(script: string): ProcessSpec {
  return { name: 'sh', command: '/bin/sh', args: ['-c', script], logFile: join(folder, 'logs', 'sh.log') };
}

it('given a process that ends, then its exit code and both outputs are kept', async () => {
  const child = await startProcess(shell('echo out; echo err >&2; exit 3'), new FakeClock());

  const exit = await child.exited;

  expect(exit).toMatchObject({ code: 3, signal: undefined });
  expect(child.exit).toEqual(exit);
  expect(readFileSync(child.spec.logFile, 'utf8')).toBe('out\nerr\n');
  expect(logTail(child.spec, 1)).toBe('err');
  expect(describeExit(exit)).toContain('exit code 3');
});

it('given a frozen process, when stopped, then SIGTERM reaches it', async () => {
  const child = await startProcess(shell('exec sleep 60'), new FakeClock());
  child.signal('SIGSTOP');

  expect(await child.stop()).toMatchObject({ code: undefined, signal: 'SIGTERM' });
});

it('given a process that ignores SIGTERM, when the grace period ends, then it is killed', async () => {
  const clock = new FakeClock();
  const trapped = join(folder, 'trapped');
  execFileSync('mkfifo', [trapped]);
  const child = await startProcess(shell(`trap "" TERM; echo > ${trapped}; exec sleep 60`), clock);
  await readFile(trapped); // until the trap is set

  const stopping = child.stop(5000);
  await clock.advance(5000);

  expect(await stopping).toMatchObject({ code: undefined, signal: 'SIGKILL' });
});

it('given a program that does not exist, then the error names it and nothing hangs', async () => {
  await expect(startProcess({ ...shell(''), command: '/no/such/program' }, new FakeClock())).rejects.toThrow(
    'cannot start sh (/no/such/program)',
  );
});

it('given a process that is gone, when signalled, then nothing happens', async () => {
  const child = await startProcess(shell('exit 0'), new FakeClock());
  await child.exited;
  child.signal('SIGKILL');
  expect(await child.stop()).toMatchObject({ code: 0 });
});
