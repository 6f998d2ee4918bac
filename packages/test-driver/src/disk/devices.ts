// SPDX-License-Identifier: Apache-2.0
/** Loop devices and the file systems on them. */
import { stat } from 'node:fs/promises';
import { run } from './command.ts';
import { loopDevices } from './mount-table.ts';

/** The device of an image, which is attached if necessary. */
export async function attach(image: string): Promise<string> {
  const [attached] = await loopDevices(image);
  return attached ?? (await run({ program: 'losetup', args: ['--find', '--show', image] }));
}

/** Detaches all devices of a file, or of the files in a folder. A mounted device disappears with its last user. */
export async function detach(path: string): Promise<void> {
  for (const device of await loopDevices(path)) await run({ program: 'losetup', args: ['--detach', device] });
}

/** Makes the device notice that its image has grown. */
export async function followSize(device: string): Promise<void> {
  await run({ program: 'losetup', args: ['--set-capacity', device] });
}

/** Undefined if there is none. */
export async function fileSystemOn(device: string): Promise<string | undefined> {
  const nothingFound = 2;
  const type = await run({
    program: 'blkid',
    args: ['--probe', '--match-tag', 'TYPE', '--output', 'value', device],
    accept: [nothingFound],
  });
  return type === '' ? undefined : type;
}

/** What mkfs.xfs demands at least. */
const smallestXfsBytes = 300n * 2n ** 20n;

/**
 * Formats an empty device; data that is not a file system is never overwritten. The default is XFS, which grows while it is mounted without
 * CAP_SYS_RESOURCE, and ext4 for a device that is too small for it.
 */
export async function ensureFileSystem(device: string, image: string, wanted: string): Promise<string> {
  const held = await fileSystemOn(device);
  if (held !== undefined) return held;
  if ((await stat(image)).blocks > 0) throw new Error('the volume holds data but no file system');
  const isSmall = (await deviceBytes(device)) < smallestXfsBytes;
  const type = wanted !== '' ? wanted : isSmall ? 'ext4' : 'xfs';
  await run({ program: `mkfs.${type}`, args: [type === 'xfs' ? '-q' : '-qF', device] });
  return type;
}

/** Grows a mounted file system. For ext4 the kernel requires CAP_SYS_RESOURCE. */
export async function growMounted(device: string, path: string): Promise<void> {
  const type = await fileSystemOn(device);
  if (type === 'xfs') await run({ program: 'xfs_growfs', args: [path] });
  else if (isExt(type)) await run({ program: 'resize2fs', args: [device] });
  else throw new Error(`a file system of type ${type} cannot grow`);
}

/** Grows a file system before it is mounted, for content from a smaller source. XFS grows only while mounted. */
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
  const largestBlock = 4096n; // a file system does not use an incomplete last block
  return bytes - (bytes % largestBlock);
}
