// SPDX-License-Identifier: Apache-2.0
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { abandonedCluster, claimFolder, removeFolder, type Machine } from './kubelet-folder.ts';

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'kubelet-folder-')), 'kubelet');
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

/** Mounts are names; `busy` ones stay. */
function machineWith(
  mounts: readonly string[],
  busy: readonly string[] = [],
): { readonly machine: Machine; readonly log: string[] } {
  const log: string[] = [];
  let left = mounts.map((name) => join(folder, name));
  const machine: Machine = {
    mountsBelow: () => left,
    unmount: (path) => {
      if (busy.some((name) => path.endsWith(name))) throw new Error(`umount: ${path}: target is busy`);
      log.push(`unmount ${path.slice(folder.length)}, folder ${existsSync(folder) ? 'there' : 'gone'}`);
      left = left.filter((each) => each !== path);
    },
    loopDevicesOver: (below) => [`/dev/loop over ${below.slice(folder.length)}`],
    detach: (device) => void log.push(`detach ${device}`),
    isAlive: (pid) => pid === 1,
  };
  return { machine, log };
}

describe('[packaging#63] the folder that a kind cluster shares with this machine', () => {
  it("given pods' mounts that a deleted cluster has left, then they are unmounted, the inner ones first, before the folder goes", () => {
    claimFolder(folder, { pid: 2, cluster: 'c' });
    const { machine, log } = machineWith(['pods/a/token', 'pods/a/token/inner', 'pods/b/token']);

    removeFolder(folder, machine);

    expect(log).toEqual([
      'detach /dev/loop over /plugins',
      'unmount /pods/b/token, folder there',
      'unmount /pods/a/token/inner, folder there',
      'unmount /pods/a/token, folder there',
    ]);
    expect(existsSync(folder)).toBe(false);
  });

  it('given a mount that is in use, then nothing is removed, and the error names it', () => {
    mkdirSync(join(folder, 'pods/a'), { recursive: true });
    writeFileSync(join(folder, 'pods/a/data'), 'precious');
    const { machine } = machineWith(['pods/a'], ['pods/a']);

    expect(() => removeFolder(folder, machine)).toThrow('pods/a: target is busy');
    expect(readdirSync(join(folder, 'pods/a'))).toEqual(['data']);
  });

  it('given a mount that appears again, then nothing is removed', () => {
    claimFolder(folder, { pid: 2, cluster: 'c' });
    const { machine } = machineWith(['pods/a']);
    expect(() => removeFolder(folder, { ...machine, unmount: () => undefined })).toThrow('this is still mounted');
    expect(existsSync(folder)).toBe(true);
  });

  it('given no folder, or an empty one, then there is nothing to clean up', () => {
    const { machine } = machineWith([]);
    expect(abandonedCluster(folder, machine)).toBeUndefined();
    mkdirSync(folder);
    expect(abandonedCluster(folder, machine)).toBeUndefined();
  });

  it('given the folder of a run that was killed, then its cluster is named; that of a living run, and of anybody else, is refused', () => {
    const { machine } = machineWith([]);
    claimFolder(folder, { pid: 2, cluster: 'csi-e2e-2' });
    expect(abandonedCluster(folder, machine)).toBe('csi-e2e-2');
    claimFolder(folder, { pid: 1, cluster: 'csi-e2e-1' });
    expect(() => abandonedCluster(folder, machine)).toThrow('used by another run (process 1, cluster csi-e2e-1)');
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    writeFileSync(join(folder, 'config.yaml'), '');
    expect(() => abandonedCluster(folder, machine)).toThrow('needs an empty');
  });
});
