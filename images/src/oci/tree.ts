// SPDX-License-Identifier: Apache-2.0
/** A layer as a folder, with the rights that its entries have. */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TarEntry } from './tar.ts';

export function writeTree(folder: string, entries: readonly TarEntry[]): void {
  for (const entry of entries) {
    const path = join(folder, entry.path);
    mkdirSync(dirname(path), { recursive: true });
    switch (entry.kind) {
      case 'folder':
        mkdirSync(path, { recursive: true });
        chmodSync(path, entry.mode ?? 0o755);
        break;
      case 'link':
        symlinkSync(entry.to, path);
        break;
      case 'file':
        writeFileSync(path, entry.content);
        // Not as an option of the write, which the umask would change.
        chmodSync(path, entry.mode ?? 0o644);
        break;
    }
  }
}
