// SPDX-License-Identifier: Apache-2.0
import { FileError, type Files } from '../src/api/cluster/files.ts';

export interface MemoryFiles extends Files {
  /** Paths in the order in which they were read, failures included. */
  readonly reads: readonly string[];
  readonly write: (path: string, text: string) => void;
  readonly remove: (path: string) => void;
}

/** Files that exist in memory only. */
export function memoryFiles(initial: Readonly<Record<string, string>> = {}): MemoryFiles {
  const files = new Map(Object.entries(initial));
  const reads: string[] = [];
  return {
    reads,
    read: async (path) => {
      reads.push(path);
      const text = files.get(path);
      if (text === undefined) throw new FileError(path, 'ENOENT');
      return Buffer.from(text);
    },
    write: (path, text) => {
      files.set(path, text);
    },
    remove: (path) => {
      files.delete(path);
    },
  };
}
