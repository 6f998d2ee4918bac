// SPDX-License-Identifier: Apache-2.0
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { mountsBelow } from '../../nodes/mounts-below.ts';
import { abandonedNodes, removeAll, workFolderPrefix } from './leftovers.ts';

let parent: string;
beforeEach(() => {
  parent = realpathSync(mkdtempSync(join(tmpdir(), 'leftovers-')));
});
afterEach(() => {
  for (const path of mountsBelow(parent).toReversed()) execFileSync('umount', [path]);
  rmSync(parent, { recursive: true, force: true });
});

function folder(...path: readonly string[]): string {
  const made = join(parent, ...path);
  mkdirSync(made, { recursive: true });
  writeFileSync(join(made, 'file'), 'content');
  return made;
}

/** The id of a process that has ended. */
function endedProcess(): number {
  return spawnSync('true').pid;
}

const withoutGroups = { remove: () => undefined };

it('[packaging#51] given the folders of a run that was killed, of one that goes on and of others, when the next run cleans up, then only those of the first are taken away', () => {
  const killed = folder(`${workFolderPrefix(endedProcess())}abc`);
  folder(basename(killed), 'kubelet', 'pods');
  const others = [
    folder(`${workFolderPrefix(process.pid)}abc`),
    folder('csi-node-backup'),
    folder(`csi-nodes-${endedProcess()}-abc`),
    folder('kubelet'),
  ];

  const found = abandonedNodes(parent);
  expect(found.map(({ work }) => work)).toContain(killed);
  for (const { work } of found) removeAll({ work, cgroups: withoutGroups });

  expect(abandonedNodes(parent)).toEqual([]);
  expect([existsSync(killed), ...others.map((path) => existsSync(join(path, 'file')))]).toEqual([
    false,
    ...others.map(() => true),
  ]);
});

it.runIf(canMount())(
  '[packaging#51] given a mount that a killed run has left, when the next run cleans up, then it is unmounted, what was mounted keeps its files, and mounts elsewhere stay',
  () => {
    const mounted = folder('data');
    const work = folder(`${workFolderPrefix(endedProcess())}abc`);
    const [below, beside] = [join(work, 'kubelet', 'mount'), folder('elsewhere')];
    mkdirSync(below, { recursive: true });
    for (const path of [below, beside]) execFileSync('mount', ['--bind', mounted, path]);

    for (const each of abandonedNodes(parent)) removeAll({ ...each, cgroups: withoutGroups });

    expect(existsSync(work)).toBe(false);
    expect(readFileSync(join(mounted, 'file'), 'utf8')).toBe('content');
    expect(mountsBelow(parent)).toEqual([beside]);
  },
);

function canMount(): boolean {
  const place = mkdtempSync(join(tmpdir(), 'mount-probe-'));
  try {
    if (spawnSync('mount', ['--bind', place, place]).status !== 0) return false;
    return spawnSync('umount', [place]).status === 0;
  } finally {
    rmSync(place, { recursive: true });
  }
}
