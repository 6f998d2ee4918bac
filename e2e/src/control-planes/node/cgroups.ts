// SPDX-License-Identifier: Apache-2.0
/**
 * One control group for everything that runs on the node, in every hierarchy that the machine has (version 1) or in the one
 * (version 2): `system` for kubelet, containerd and its shims, `kubepods` below it by kubelet. So every process of the node is
 * known directly, even when kubelet and containerd are gone.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface NodeCgroups {
  /** The name in kubelet's form: `/csi-sidecars-123`. */
  readonly name: string;
  /** The command in front of a program that is to be in `system`. */
  readonly enter: readonly string[];
  /** All that run below it. */
  processes(): readonly number[];
  /** Those of one container, by the id that containerd gave it. */
  processesOf(containerId: string): readonly number[];
  /** Folders that are still there. */
  folders(): readonly string[];
  /** Fails where a process is left. */
  remove(): void;
}

const root = '/sys/fs/cgroup';
/** CGROUP2_SUPER_MAGIC of linux/magic.h. */
const cgroup2 = 0x63677270;

export function createCgroups(name: string): NodeCgroups {
  for (const base of basesOf(name)) mkdirSync(join(base, 'system'), { recursive: true });
  if (isUnified()) delegate(join(root, name));
  return openCgroups(name);
}

/** One that may be there already, in part or in whole. */
export function openCgroups(name: string): NodeCgroups {
  const bases = basesOf(name);
  // The processes can be listed through any hierarchy.
  const counted = bases.find((base) => base.includes('/pids/')) ?? bases[0]!;
  const folders = (): readonly string[] => bases.flatMap(tree);
  const processesIn = (paths: readonly string[]): readonly number[] => [...new Set(paths.flatMap(members))];
  return {
    name: `/${name}`,
    enter: ['sh', '-c', 'echo $$ > "$1" && shift && exec "$@"', 'sh', join(counted, 'system', 'cgroup.procs')],
    processes: () => processesIn(tree(counted)),
    processesOf: (containerId) => processesIn(tree(counted).filter((path) => path.includes(containerId))),
    folders,
    remove: () =>
      folders()
        .toReversed()
        .forEach((path) => rmdirSync(path)),
  };
}

function isUnified(): boolean {
  return statfsSync(root).type === cgroup2;
}

function basesOf(name: string): readonly string[] {
  return (isUnified() ? [root] : hierarchies()).map((hierarchy) => join(hierarchy, name));
}

/** Control groups of version 1 have one folder per mounted hierarchy; runc also uses one of version 2 where it is mounted beside them. */
function hierarchies(): readonly string[] {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, path, type]) => type?.startsWith('cgroup') === true && path !== undefined)
    .map(([, path]) => path!);
}

/** Version 2: a controller is there for a group when all above it pass it on. */
function delegate(base: string): void {
  const controllers = readFileSync(join(root, 'cgroup.controllers'), 'utf8').trim().split(' ');
  for (const folder of [root, base]) {
    writeFileSync(join(folder, 'cgroup.subtree_control'), controllers.map((each) => `+${each}`).join(' '));
  }
}

/** The folder, if it exists, and all below it, outer ones first. */
function tree(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const below = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
  return [folder, ...below.sort((a, b) => a.length - b.length)];
}

function members(folder: string): readonly number[] {
  try {
    return readFileSync(join(folder, 'cgroup.procs'), 'utf8').trim().split('\n').map(Number).filter(Boolean);
  } catch {
    return []; // removed in between
  }
}
