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

/** While it is mounted. The kernel wants CAP_SYS_RESOURCE for this with ext4. */
export async function growMounted(device: string, path: string): Promise<void> {
  const type = await fileSystemOn(device);
  if (type === 'xfs') await run({ program: 'xfs_growfs', args: [path] });
  else if (isExt(type)) await run({ program: 'resize2fs', args: [device] });
  else throw new Error(`a file system of type ${type} cannot grow`);
}

/** Before it is mounted: content that came from a smaller source. XFS grows only while mounted. */
export async function growUnmounted(device: string, type: string): Promise<void> {
  if (!isExt(type) || (await extBytes(device)) >= (await deviceBytes(device))) return;
  const corrected = 1;
  await run({ program: 'e2fsck', args: ['-f', '-p', device], accept: [corrected] });
  await run({ program: 'resize2fs', args: [device] });
}

function isExt(type: string | undefined): boolean {
  return type?.startsWith('ext') === true;
}

async function extBytes(device: string): Promise<bigint> {
  const facts = await run({ program: 'dumpe2fs', args: ['-h', device] });
  const number = (name: string): bigint => BigInt(new RegExp(`^${name}:\\s+(\\d+)$`, 'm').exec(facts)?.[1] ?? '0');
  return number('Block count') * number('Block size');
}

async function deviceBytes(device: string): Promise<bigint> {
  const bytes = BigInt(await run({ program: 'blockdev', args: ['--getsize64', device] }));
  const largestBlock = 4096n; // a file system does not use a last block that is not whole
  return bytes - (bytes % largestBlock);
}
