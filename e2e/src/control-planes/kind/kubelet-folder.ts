// SPDX-License-Identifier: Apache-2.0
/**
 * The folder that this machine and the node of a kind cluster share. What pods mount in the node appears here as well, and stays when the
 * cluster is deleted, so it is unmounted before the folder is removed. A mark says whose the folder is, also after a run that was killed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mountsBelow } from '../../nodes/mounts-below.ts';
import { Refusal } from '../../refusal.ts';
import { detach, loopDevicesOver } from '../node/loop-devices.ts';

export interface Machine {
  /** In the order in which they were made. */
  mountsBelow(folder: string): readonly string[];
  unmount(path: string): void;
  loopDevicesOver(folder: string): readonly string[];
  detach(device: string): void;
  isAlive(pid: number): boolean;
}

export const thisMachine: Machine = {
  mountsBelow,
  unmount: (path) => void execFileSync('umount', [path], { stdio: 'pipe' }),
  loopDevicesOver,
  detach,
  isAlive: (pid) => existsSync(`/proc/${pid}`),
};

interface Owner {
  readonly pid: number;
  readonly cluster: string;
}

const markName = '.csi-sidecars-e2e.json';

/** The cluster of a run that was killed, if the folder is such a run's. Throws a Refusal if it is somebody else's. */
export function abandonedCluster(folder: string, { isAlive }: Pick<Machine, 'isAlive'>): string | undefined {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return undefined;
  const mark = join(folder, markName);
  if (!existsSync(mark)) {
    throw new Refusal(`control plane "kind" needs an empty ${folder}, which it removes at the end`);
  }
  const { pid, cluster } = JSON.parse(readFileSync(mark, 'utf8')) as Owner;
  if (isAlive(pid)) throw new Refusal(`${folder} is used by another run (process ${pid}, cluster ${cluster})`);
  return cluster;
}

export function claimFolder(folder: string, owner: Owner): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, markName), JSON.stringify(owner));
}

/** Call it once the cluster is gone. Throws, and removes nothing, while something is still mounted. */
export function removeFolder(folder: string, machine: Omit<Machine, 'isAlive'>): void {
  for (const device of machine.loopDevicesOver(join(folder, 'plugins'))) machine.detach(device);
  for (const path of machine.mountsBelow(folder).toReversed()) machine.unmount(path);
  const left = machine.mountsBelow(folder);
  if (left.length > 0) throw new Error(`${folder} stays, because this is still mounted: ${left.join(', ')}`);
  rmSync(folder, { recursive: true, force: true });
}
