// SPDX-License-Identifier: Apache-2.0
/** The files of unpacked images, as overlayfs has them below containerd's folder, and the kernel's cache of their pages. */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';

/** Only the file with Node.js counts: the programs have a hundredth of its size. */
export function forgetNodeBinaries(containerdRoot: string): void {
  const files = globSync(`${containerdRoot}/io.containerd.snapshotter.v1.overlayfs/snapshots/*/fs/nodejs/bin/node`);
  if (files.length === 0) throw new Error(`no image below ${containerdRoot} has Node.js`);
  for (const file of files) {
    // Pages that were not written yet stay in the cache, whatever is asked.
    execFileSync('sync', [file]);
    execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none']);
  }
}
