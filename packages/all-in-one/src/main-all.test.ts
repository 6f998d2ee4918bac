// SPDX-License-Identifier: Apache-2.0
/** The program as a process, because the word in front of its flags is read by its main file. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { four } from '../testing/run-all.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'main-all-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Starts it, and ends it by a signal once it has written this. */
async function runUntil(written: string, args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main-all.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {},
  });
  let output = '';
  let isAsked = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      output += text;
      // A second signal would end it at once.
      if (isAsked || !output.includes(written)) return;
      isAsked = true;
      child.kill('SIGTERM');
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

/** Nothing listens there: the program starts, and waits. */
function kubeconfig(): string {
  const path = join(folder, 'kubeconfig');
  const content = {
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:1' } }],
    users: [{ name: 'u', user: {} }],
  };
  writeFileSync(path, JSON.stringify(content));
  return path;
}

it.each([
  ['without a command', []],
  ['after the command all', ['all']],
])(
  "[all-in-one#5] given the ten arguments of the PoC's README %s, when the program is started, then it has four controllers, and ends in order",
  async (_, words) => {
    const { code, output } = await runUntil('Controllers', [
      ...words,
      `--csi-address=${join(folder, 'csi.sock')}`,
      four,
      '--leader-election',
      '--leader-election-namespace=ns',
      '--attacher-timeout=30s',
      '--resizer-resize-timeout=30s',
      '--resizer-modify-timeout=30s',
      '--snapshotter-timeout=30s',
      '--attacher-worker-threads=5',
      '--provisioner-volume-name-prefix=pvc',
      `--kubeconfig=${kubeconfig()}`,
    ]);
    expect(output).toContain('controllers=["attacher","provisioner","resizer","snapshotter"]');
    expect(code).toBe(0);
  },
);

it('given a command that does not exist, then exit 2, and those that do are listed', async () => {
  const { code, output } = await runUntil('never', ['both', four]);
  expect([code, output]).toEqual([
    2,
    expect.stringMatching(/^unknown command: both\nUsage of [^]*\[all\] --controllers[^]*\nunknown command: both\n$/),
  ]);
});
