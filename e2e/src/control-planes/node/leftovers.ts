// SPDX-License-Identifier: Apache-2.0
/**
 * Processes, loop devices and mounts that a node has left on this machine. After an orderly end there must be none; then everything that
 * is left is removed by force, also after runs that were killed: the names of control group and work folder contain the process id.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { mountsBelow } from '../../nodes/mounts-below.ts';
import { kubeletRoot } from './kubelet.ts';
import { openCgroups, type NodeCgroups } from './cgroups.ts';
import { restoreKernelSettings } from './kernel-settings.ts';
import { detach, loopDevicesOver } from './loop-devices.ts';

export interface NodeResources {
  readonly work: string;
  readonly cgroups: NodeCgroups;
}

interface Removable {
  readonly work: string;
  readonly cgroups: Pick<NodeCgroups, 'remove'>;
}

export function workFolderPrefix(pid: number): string {
  return `csi-node-${pid}-`;
}

/** One line per leftover, for people. */
export function leftoversOf({ work, cgroups }: NodeResources): readonly string[] {
  return [
    ...cgroups.processes().map((pid) => `process ${pid} (${commandOf(pid)})`),
    ...loopDevicesOver(statesBelow(work)).map((device) => `loop device ${device}`),
    ...mountsBelow(work).map((path) => `mount ${path}`),
  ];
}

export function killAll({ cgroups }: Pick<NodeResources, 'cgroups'>): void {
  for (const pid of cgroups.processes()) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Call it once no process is left: the mounts of the node's own table disappear with the last one. Touches nothing that is not below `work`. */
export function removeAll({ work, cgroups }: Removable): void {
  loopDevicesOver(statesBelow(work)).forEach(detach);
  restoreKernelSettings(work);
  cgroups.remove();
  // Before the folder is removed: what is mounted there belongs to others.
  for (const path of mountsBelow(work).toReversed()) execFileSync('umount', [path]);
  rmSync(work, { recursive: true, force: true });
}

/** The resources of runs whose process is gone; `parent` is the folder in which runs make their work folders. */
export function abandonedNodes(parent: string = tmpdir()): readonly NodeResources[] {
  return globSync(`${parent}/csi-node-*`).flatMap((work) => {
    const pid = Number(basename(work).split('-')[2]);
    if (!(pid > 0) || existsSync(`/proc/${pid}`)) return [];
    return [{ work, cgroups: openCgroups(basename(work)) }];
  });
}

/** Where drivers keep their data. */
function statesBelow(work: string): string {
  return join(kubeletRoot(work), 'plugins');
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\u0000', ' ').trim().slice(0, 120);
  } catch {
    return 'gone';
  }
}
