// SPDX-License-Identifier: Apache-2.0
/** Loop devices over files below a folder, by the kernel's own account. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export function loopDevicesOver(folder: string): readonly string[] {
  return readdirSync('/sys/block')
    .filter((name) => name.startsWith('loop') && backingFile(name)?.startsWith(`${folder}/`) === true)
    .map((name) => `/dev/${name}`);
}

export function detach(device: string): void {
  spawnSync('losetup', ['--detach', device]);
}

function backingFile(name: string): string | undefined {
  try {
    return readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8').trim();
  } catch {
    return undefined; // not in use
  }
}
