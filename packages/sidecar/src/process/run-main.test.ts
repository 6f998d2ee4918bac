// SPDX-License-Identifier: Apache-2.0
/** A sidecar as a process of its own: signals, exit codes, the end of the log. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CsiServer, serveCsi } from '@csi-sidecars/csi/testing';
import { expect, it } from 'vitest';

const program = join(import.meta.dirname, '../../testing/idle-sidecar.ts');
const kubeconfig = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'none', cluster: { server: 'http://127.0.0.1:1' } }],
  contexts: [{ name: 'none', context: { cluster: 'none', user: 'none' } }],
  users: [{ name: 'none', user: {} }],
  'current-context': 'none',
});

interface Running {
  readonly child: ChildProcess;
  readonly lines: readonly string[];
  /** Resolves when a line contains the text. */
  readonly line: (text: string) => Promise<void>;
  readonly code: Promise<number | null>;
}

function start(...args: readonly string[]): Running {
  return startWith([], ...args);
}

function startWith(nodeArgs: readonly string[], ...args: readonly string[]): Running {
  const child = spawn(process.execPath, [...nodeArgs, program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  const watchers = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      lines.push(...chunk.toString().trimEnd().split('\n'));
      for (const look of watchers) look();
    });
  }
  const line = (text: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!lines.some((each) => each.includes(text))) return;
        watchers.delete(look);
        resolve();
      };
      watchers.add(look);
      look();
    });
  const code = once(child, 'close').then(([status]) => status as number | null);
  return { child, lines, line, code };
}

function withDriver(): Promise<CsiServer> {
  return serveCsi({
    '/csi.v1.Identity/Probe': () => ({}),
    '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'a.example.com' }),
  });
}

function flagsFor(driver: CsiServer): readonly string[] {
  const path = join(dirname(driver.path), 'kubeconfig');
  writeFileSync(path, kubeconfig);
  return [`--csi-address=${driver.path}`, `--kubeconfig=${path}`];
}

it('[common#73] given a sidecar without work, then it stays, ends in order on SIGTERM, and the code is 0', async () => {
  await using driver = await withDriver();
  const sidecar = start(...flagsFor(driver), '-v=2');
  await sidecar.line('"Working"');
  sidecar.child.kill('SIGTERM');
  expect(await sidecar.code).toBe(0);
  expect(sidecar.lines.join('\n')).toContain('"CSI driver name" driver="a.example.com"');
});

it('[common#75] given ReleaseLeaderElectionOnExit=false, then SIGTERM ends the process at once with 143', async () => {
  await using driver = await withDriver();
  const sidecar = start(...flagsFor(driver), '--feature-gates=ReleaseLeaderElectionOnExit=false');
  await sidecar.line('"Working"');
  sidecar.child.kill('SIGTERM');
  expect(await sidecar.code).toBe(143);
});

it('[common#77] given handlers of signals from before the program was loaded, as the first line of a bundle has them, then the program takes their place', async () => {
  await using driver = await withDriver();
  const early = `data:text/javascript,for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => process.exit(99));`;
  const sidecar = startWith(['--import', early], ...flagsFor(driver));
  await sidecar.line('"Working"');
  sidecar.child.kill('SIGTERM');
  expect(await sidecar.code).toBe(0);
});

it('given a driver that dies, then the last line reports it and the code is 1', async () => {
  await using driver = await withDriver();
  const sidecar = start(...flagsFor(driver));
  await sidecar.line('"Working"');
  driver.stop();
  expect(await sidecar.code).toBe(1);
  expect(sidecar.lines.at(-1)).toContain('"Lost connection to CSI driver, exiting"');
});

it('[common#76] given a driver that has not started yet, then SIGINT ends the process with 130', async () => {
  await using driver = await withDriver();
  driver.stop();
  const sidecar = start(...flagsFor(driver), '-v=5');
  await sidecar.line('"Connecting"');
  sidecar.child.kill('SIGINT');
  expect(await sidecar.code).toBe(130);
});

it('given no cluster, then the last line reports it and the code is 1', async () => {
  const sidecar = start();
  expect(await sidecar.code).toBe(1);
  expect(sidecar.lines.at(-1)).toContain('unable to load in-cluster configuration');
});
