// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { offer, untilInterrupted } from './keep.ts';
import { type DemoOptions, nextSteps, parseDemoOptions } from './options.ts';

it.each([
  ['--control-plane=kubeconfig', '--keep'],
  ['--control-plane=node', '--keep'],
])('given %s and %s, then the combination is refused', (...args) => {
  expect(() => parseDemoOptions(args)).toThrow('--keep belongs to --control-plane=sim and local');
});

it.each([
  [[], 'npm start -- --keep'],
  [['--keep'], 'npm start -- --control-plane=local'],
  [['--control-plane=local'], 'docs/operations/install.md'],
])('given the arguments %j, then what is suggested next begins with %s', (args, first) => {
  const [, , step] = nextSteps(parseDemoOptions(args) as DemoOptions);
  expect(step?.trim().startsWith(first)).toBe(true);
});

it('given a cluster that is kept, then its file has a claim of the class and a pod on the node, and the commands name it and the kubeconfig', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keep-'));
  try {
    const kept = { className: 'fast', nodeName: 'node-1' };
    const lines = offer({ namespace: 'demo', folder }, { adminKubeconfig: '/tmp/admin.kubeconfig' }, kept).join('\n');
    expect(lines).toContain('export KUBECONFIG=/tmp/admin.kubeconfig\n');
    expect(lines).toContain(`-f ${join(folder, 'try.json')} `);
    const { items } = JSON.parse(readFileSync(join(folder, 'try.json'), 'utf8')) as { items: unknown };
    expect(items).toMatchObject([
      {
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'mine', namespace: 'demo' },
        spec: { storageClassName: 'fast' },
      },
      {
        kind: 'Pod',
        metadata: { namespace: 'demo' },
        spec: {
          nodeSelector: { 'kubernetes.io/hostname': 'node-1' },
          volumes: [{ persistentVolumeClaim: { claimName: 'mine' } }],
        },
      },
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('given a cluster that is kept, then the demonstration waits until it is interrupted', async () => {
  const stop = new AbortController();
  let isOver = false;
  const waiting = untilInterrupted(stop.signal).then(() => (isOver = true));
  await Promise.resolve();
  expect(isOver).toBe(false);
  stop.abort();
  await waiting;
  await untilInterrupted(stop.signal);
});
