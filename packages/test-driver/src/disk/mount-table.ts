// SPDX-License-Identifier: Apache-2.0
/**
 * The mount table from /proc/self/mountinfo, and which mounts are ours: a bind mount of a folder below the data
 * folder, or anything on a loop device whose file is below it. It is read again for every query, because other programs mount too.
 */
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { namesIn, orAbsent } from './files.ts';

export interface MountEntry {
  readonly device: string;
  /** The part of the file system that is mounted. */
  readonly root: string;
  readonly path: string;
  readonly options: readonly string[];
  readonly fsType: string;
  readonly source: string;
}

export async function mountTable(): Promise<readonly MountEntry[]> {
  return parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'));
}

export function parseMountInfo(text: string): MountEntry[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [front = '', back = ''] = line.split(' - ');
      const [, , device = '', root = '', path = '', options = ''] = front.split(' ');
      const [fsType = '', source = ''] = back.split(' ');
      return {
        device,
        root: unescaped(root),
        path: unescaped(path),
        options: options.split(','),
        fsType,
        source: unescaped(source),
      };
    });
}

/** Blanks, tabs, line breaks and backslashes are written in octal. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_match, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** The uppermost mount at exactly this path. */
export function mountAt(table: readonly MountEntry[], path: string): MountEntry | undefined {
  return table.findLast((entry) => entry.path === path);
}

/** The mount that holds a path. */
function mountOf(table: readonly MountEntry[], path: string): MountEntry | undefined {
  return table
    .filter((entry) => entry.path === '/' || path === entry.path || path.startsWith(`${entry.path}/`))
    .reduce<MountEntry | undefined>(
      (best, entry) => (best && best.path.length > entry.path.length ? best : entry),
      undefined,
    );
}

/** The path of the mounted folder or file, relative to our data folder; undefined if it is not ours. */
export async function originIn(
  folder: string,
  table: readonly MountEntry[],
  entry: MountEntry,
): Promise<string | undefined> {
  const loop =
    /^\/dev\/loop\d+$/.exec(entry.source)?.[0] ?? (entry.fsType === 'devtmpfs' ? `/dev${entry.root}` : undefined);
  if (loop !== undefined) {
    const file = await backingFile(loop);
    return file === undefined ? undefined : inside(folder, file);
  }
  const holder = mountOf(table, folder);
  if (holder === undefined || holder.device !== entry.device) return undefined;
  const folderRoot = join(holder.root, relative(holder.path, folder));
  return inside(folderRoot, entry.root.replace(/\/\/deleted$/, ''));
}

function inside(folder: string, path: string): string | undefined {
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : undefined;
}

/** The file behind a loop device; undefined if it is not a loop device, or free. */
export async function backingFile(device: string): Promise<string | undefined> {
  const name = /^\/dev\/(loop\d+)$/.exec(device)?.[1];
  if (name === undefined) return undefined;
  const text = await orAbsent(readFile(`/sys/block/${name}/loop/backing_file`, 'utf8'));
  return text?.trimEnd().replace(/ \(deleted\)$/, '');
}

/** All devices behind which this file, or any file below this folder, is. */
export async function loopDevices(path: string): Promise<readonly string[]> {
  const names = (await namesIn('/sys/block')).filter((name) => /^loop\d+$/.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      const file = await backingFile(`/dev/${name}`);
      return file === path || file?.startsWith(`${path}/`) === true ? [`/dev/${name}`] : [];
    }),
  );
  return found.flat();
}
