// SPDX-License-Identifier: Apache-2.0
/** The mounts below a folder, from the kernel's table (if there is one). */
import { readFileSync } from 'node:fs';

const mountPoint = 4;

export function mountsBelow(folder: string): readonly string[] {
  if (process.platform !== 'linux') return [];
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[mountPoint] ?? '')
    .filter((path) => path.startsWith(`${folder}/`));
}
