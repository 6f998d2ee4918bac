// SPDX-License-Identifier: Apache-2.0
/**
 * The port for configuration files: tokens, certificates, kubeconfigs. Asynchronous only: a slow disk must not block the event
 * loop.
 */
import { readFile } from 'node:fs/promises';

export interface Files {
  /** Rejects with a FileError. */
  readonly read: (path: string) => Promise<Uint8Array>;
}

/** It has the message of Go's error, because operators search for it. */
export class FileError extends Error {
  override readonly name = 'FileError';
  readonly code: string;
  constructor(path: string, code: string, options?: ErrorOptions) {
    super(code === 'EISDIR' ? `read ${path}: is a directory` : `open ${path}: ${texts[code] ?? code}`, options);
    this.code = code;
  }
}

const texts: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
  EACCES: 'permission denied',
};

export function systemFiles(): Files {
  return {
    read: async (path) => {
      try {
        return await readFile(path);
      } catch (cause) {
        throw new FileError(path, (cause as NodeJS.ErrnoException).code ?? String(cause), { cause });
      }
    },
  };
}

export async function readText(files: Files, path: string): Promise<string> {
  return Buffer.from(await files.read(path)).toString('utf8');
}
