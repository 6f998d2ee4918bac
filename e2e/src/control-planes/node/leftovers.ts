// SPDX-License-Identifier: Apache-2.0
/**
 * What a node has left on this machine. Looked at after an orderly end, where all must have gone by itself; then whatever is
 * left goes by force, also that of runs that were killed: control group and work folder carry the number of their process.
 */
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { mountsBelow } from '../../nodes/mounts-below.ts';
import { kubeletRoot } from './kubelet.ts';
import { openCgroups, type NodeCgroups } from './cgroups.ts';
import { restoreKernelSettings } from './kernel-settings.ts';
import { detach, loopDevicesOver } from './loop-devices.ts';

export interface NodePlace {
  readonly work: string;
  readonly cgroups: NodeCgroups;
}

export function placePrefix(pid: number): string {
  return `csi-node-${pid}-`;
}

/** One line per thing, for people. */
export function remainsOf({ work, cgroups }: NodePlace): readonly string[] {
  return [
    ...cgroups.processes().map((pid) => `process ${pid} (${commandOf(pid)})`),
    ...loopDevicesOver(statesBelow(work)).map((device) => `loop device ${device}`),
    ...mountsBelow(work).map((path) => `mount ${path}`),
  ];
}

export function killAll({ cgroups }: Pick<NodePlace, 'cgroups'>): void {
  for (const pid of cgroups.processes()) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Once no process is left: the mounts have gone with the last one. */
export function removeAll({ work, cgroups }: NodePlace): void {
  loopDevicesOver(statesBelow(work)).forEach(detach);
  restoreKernelSettings(work);
  cgroups.remove();
  rmSync(work, { recursive: true, force: true });
}

/** Places of runs whose process is gone. */
export function abandonedPlaces(): readonly NodePlace[] {
  return globSync(`${tmpdir()}/csi-node-*`).flatMap((work) => {
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
