// SPDX-License-Identifier: Apache-2.0
/** Programs of this machine as files of an image, with the shared libraries that they need to start. */
import { execFileSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TarEntry } from '@csi-sidecars/images';

/** Where Debian keeps what only root uses; not in everybody's PATH. */
const moreFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

export function whereIs(program: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...moreFolders];
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}

/** Installed in a folder of `PATH`, so that no configuration is needed. */
export function machineProgram(program: string): readonly TarEntry[] {
  const path = whereIs(program);
  if (path === undefined) throw new Error(`${program} is needed in an image and not on this machine`);
  return withLibraries(path, path);
}

export function withLibraries(file: string, path: string): readonly TarEntry[] {
  return [fileFrom(file, path), ...librariesOf(file).map((library) => fileFrom(library, library))];
}

function fileFrom(file: string, path: string): TarEntry {
  return { kind: 'file', path: path.slice(1), content: readFileSync(file), mode: 0o755 };
}

/** `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...)`, and the loader without an arrow. */
function librariesOf(file: string): readonly string[] {
  let listed: string;
  try {
    listed = execFileSync('ldd', [file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return []; // statically linked
  }
  return [...listed.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)].map((match) => match[1]!);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
