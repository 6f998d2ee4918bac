// SPDX-License-Identifier: Apache-2.0
/** The registrar as a separate process: signals, and what remains after its end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { serveCsi } from '@csi-sidecars/csi/testing';
import { expect, it } from 'vitest';
import { driverName, endpoint, namedDriver } from '../testing/registrar-fixture.ts';

const program = join(import.meta.dirname, 'main.ts');

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<readonly [code: number | null, signal: NodeJS.Signals | null]>;
  /** Resolves when a line contains the text. */
  readonly line: (text: string) => Promise<void>;
}

function start(...args: readonly string[]): Running {
  return startUnder('022', ...args);
}

/** A umask belongs to a process and threads may not set it, so a shell sets it. */
function startUnder(umask: string, ...args: readonly string[]): Running {
  const command = [process.execPath, program, `--kubelet-registration-path=${endpoint}`, ...args];
  const child = spawn('sh', ['-c', `umask ${umask}; exec "$@"`, 'sh', ...command], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  const watchers = new Set<() => void>();
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    for (const look of watchers) look();
  });
  const line = (wanted: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!text.includes(wanted)) return;
        watchers.delete(look);
        resolve();
      };
      watchers.add(look);
      look();
    });
  const ended = once(child, 'close').then(([code, signal]) => [code, signal] as [number | null, NodeJS.Signals | null]);
  return { child, ended, line };
}

it.each([
  ['[node-driver-registrar#51]', 'SIGTERM'],
  ['[node-driver-registrar#54]', 'SIGINT'],
] as const)('%s given %s, then the socket is removed, exit 0', async (_, signal) => {
  await using driver = await serveCsi(namedDriver());
  const registration = join(dirname(driver.path), 'reg');
  mkdirSync(registration);
  const { child, ended, line } = start(`--csi-address=${driver.path}`, `--plugin-registration-path=${registration}`);
  await line('"Registration Server started"');
  const socket = join(registration, `${driverName}-reg.sock`);
  expect(existsSync(socket)).toBe(true);
  child.kill(signal);
  expect(await ended).toEqual([0, null]);
  expect(existsSync(socket)).toBe(false);
});

it.each(['000', '022', '077', '777'])(
  '[node-driver-registrar#32] given the umask %s, then the mode is 0700',
  async (umask) => {
    await using driver = await serveCsi(namedDriver());
    const registration = join(dirname(driver.path), 'reg');
    mkdirSync(registration);
    const args = [`--csi-address=${driver.path}`, `--plugin-registration-path=${registration}`];
    const { child, ended, line } = startUnder(umask, ...args);
    await line('"Registration Server started"');
    expect(lstatSync(join(registration, `${driverName}-reg.sock`)).mode & 0o777).toBe(0o700);
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  },
);

it('[node-driver-registrar#55] given SIGTERM while it waits for its driver, then it ends at once', async () => {
  const { child, ended, line } = start('--csi-address=/nonexistent/csi.sock', '--v=5');
  await line('"Connecting"');
  child.kill('SIGTERM');
  // The exit code that a shell reports for a death by SIGTERM.
  expect(await ended).toEqual([143, null]);
});
