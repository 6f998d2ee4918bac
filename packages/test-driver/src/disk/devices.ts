// SPDX-License-Identifier: Apache-2.0
/** Loop devices and the file systems on them. */
import { stat } from 'node:fs/promises';
import { run } from './command.ts';
import { loopDevices } from './mount-table.ts';

/** The device of an image, attached if it was not. */
export async function attach(image: string): Promise<string> {
  const [attached] = await loopDevices(image);
  return attached ?? (await run({ program: 'losetup', args: ['--find', '--show', image] }));
}

/** All devices of a file, or of the files in a folder. One still mounted goes when its last user does. */
export async function detach(path: string): Promise<void> {
  for (const device of await loopDevices(path)) await run({ program: 'losetup', args: ['--detach', device] });
}

/** The device takes notice that its image has grown. */
export async function followSize(device: string): Promise<void> {
  await run({ program: 'losetup', args: ['--set-capacity', device] });
}

/** Undefined: there is none. */
export async function fileSystemOn(device: string): Promise<string | undefined> {
  const nothingFound = 2;
  const type = await run({
    program: 'blkid',
    args: ['--probe', '--match-tag', 'TYPE', '--output', 'value', device],
    accept: [nothingFound],
  });
  return type === '' ? undefined : type;
}

/** Formats a device that holds nothing; data that is no file system is not ours to destroy. */
export async function ensureFileSystem(device: string, image: string, wanted: string): Promise<string> {
  const held = await fileSystemOn(device);
  if (held !== undefined) return held;
  if ((await stat(image)).blocks > 0) throw new Error('the volume holds data but no file system');
  const type = wanted === '' ? 'ext4' : wanted;
  await run({ program: `mkfs.${type}`, args: [type === 'xfs' ? '-q' : '-qF', device] });
  return type;
}

export async function growFileSystem(device: string, path: string): Promise<void> {
  const type = await fileSystemOn(device);
  if (type === 'xfs') await run({ program: 'xfs_growfs', args: [path] });
  else if (type?.startsWith('ext') === true) await run({ program: 'resize2fs', args: [device] });
  else throw new Error(`a file system of type ${type} cannot grow`);
}
