// SPDX-License-Identifier: Apache-2.0
/**
 * Loop devices over files below a folder, and those over such devices (kubelet holds a block volume by one of its own). By inode:
 * the path that the kernel reports is the one in the mount table of the process that created the device.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';

interface LoopDevice {
  readonly name: string;
  /** Device and inode of the file behind it. */
  readonly over: string;
}

export function loopDevicesOver(folder: string): readonly string[] {
  const all = inUse();
  if (all.length === 0 || !existsSync(folder)) return [];
  const ours = new Set(filesBelow(folder).map(identityOf));
  const found: LoopDevice[] = [];
  for (let more = true; more;) {
    const next = all.filter((device) => ours.has(device.over) && !found.includes(device));
    for (const { name } of next) ours.add(identityOf(statSync(name)));
    found.push(...next);
    more = next.length > 0;
  }
  // The outer ones hold the inner ones.
  return found.toReversed().map(({ name }) => name);
}

export function detach(device: string): void {
  spawnSync('losetup', ['--detach', device]);
}

function inUse(): readonly LoopDevice[] {
  const columns = ['--json', '--output', 'NAME,BACK-MAJ:MIN,BACK-INO'];
  const { stdout } = spawnSync('losetup', ['--list', ...columns], { encoding: 'utf8' });
  if (stdout.trim() === '') return []; // none at all
  const { loopdevices } = JSON.parse(stdout) as {
    readonly loopdevices: readonly { readonly [column: string]: string | number }[];
  };
  // Numbers are padded with blanks.
  const text = (value: string | number | undefined): string => String(value).trim();
  return loopdevices.map((row) => ({
    name: text(row['name']),
    over: `${text(row['back-maj:min'])} ${text(row['back-ino'])}`,
  }));
}

function filesBelow(folder: string): readonly Stats[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false }))
    .filter((stats) => stats !== undefined);
}

/** The number of a device as Linux packs it. */
function identityOf({ dev, ino }: Stats): string {
  const major = (dev >> 8) & 0xfff;
  const minor = (dev & 0xff) | ((dev >> 12) & 0xfff00);
  return `${major}:${minor} ${ino}`;
}
