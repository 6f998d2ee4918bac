// SPDX-License-Identifier: Apache-2.0
/**
 * The layers of images that exist for tests only: the test driver with the programs of this machine that it runs, a shell for pods,
 * and upstream's programs. Libraries are this machine's, also those of the test driver's Node.js, so that they fit together.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { gzip, layerOf, nodePath, type Compression, type Layer, type TarEntry } from '@csi-sidecars/images';
import { build } from 'esbuild';
import { repositoryRoot, type Program } from '../processes/program.ts';
import { machineProgram, whereIs, withLibraries } from './machine-programs.ts';

const testDriverPath = '/test-driver.mjs';
export const testDriverEntrypoint: readonly string[] = [nodePath, testDriverPath];
const relayPath = '/relay.mjs';
/** In the test driver's image; the sockets are its arguments. */
export const relayCommand: readonly string[] = [nodePath, relayPath];

type FileEntry = Extract<TarEntry, { kind: 'file' }>;

/** These layers are unpacked once, on the machine that packed them. */
export const quickly: Compression = { ...gzip, compress: (tar) => gzipSync(tar, { level: 1 }) };

export async function testDriverLayers(): Promise<readonly Layer[]> {
  const runtime = [
    ...withLibraries(process.execPath, nodePath),
    { kind: 'folder', path: 'tmp', mode: 0o1777 } as const,
  ];
  return [
    layerOf('Node.js', runtime, quickly),
    layerOf('programs that mount, format and copy', storageTools(), quickly),
    // For hooks of containers, which drivers have in scripts.
    shellLayer(['rm']),
    layerOf('the test driver', [await testDriver(), await relay()], quickly),
  ];
}

/** The driver and the relay as files, for an image that is made by docker. */
export async function writeTestDriver(folder: string): Promise<void> {
  for (const { path, content } of [await testDriver(), await relay()]) writeFileSync(join(folder, path), content);
}

export function busyboxLayer(): Layer {
  return layerOf('a shell and its commands', busybox(), quickly);
}

/** This machine's shell, in the place of busybox's, which prefers its own commands to those in PATH; and more of this machine's programs. */
export function shellLayer(programs: readonly string[]): Layer {
  const shell = withLibraries(realpathSync('/bin/sh'), '/bin/sh');
  return layerOf(`a shell, ${programs.join(', ')}`, [...shell, ...programs.flatMap(machineProgram)], quickly);
}

/** One executable file at the root. */
export function upstreamLayer({ name, command }: Program): Layer {
  return layerOf(
    `upstream's ${name}`,
    [{ kind: 'file', path: name, content: readFileSync(command), mode: 0o755 }],
    quickly,
  );
}

/** The programs that the test driver runs to mount, format and copy. */
function storageTools(): readonly TarEntry[] {
  const devices = ['mount', 'umount', 'losetup', 'blkid', 'blockdev', 'fsfreeze'];
  const fileSystems = ['mkfs.ext4', 'e2fsck', 'resize2fs', 'dumpe2fs', 'mkfs.xfs', 'xfs_growfs'];
  const files = ['cp', 'du', 'chgrp', 'chmod'];
  return [...devices, ...fileSystems, ...files].flatMap(machineProgram);
}

function testDriver(): Promise<FileEntry> {
  return bundled('packages/test-driver/src/main.ts', testDriverPath);
}

function relay(): Promise<FileEntry> {
  return bundled('e2e/src/driver/relay.ts', relayPath);
}

async function bundled(source: string, path: string): Promise<FileEntry> {
  const { outputFiles } = await build({
    entryPoints: [join(repositoryRoot, source)],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    // Its libraries are CommonJS and ask for Node's modules with require.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  return { kind: 'file', path: path.slice(1), content: outputFiles[0]!.contents };
}

function busybox(): readonly TarEntry[] {
  const program = whereIs('busybox');
  if (program === undefined) throw new Error('busybox is needed in an image and not on this machine');
  const applets = execFileSync(program, ['--list'], { encoding: 'utf8' }).trim().split('\n');
  return [
    ...withLibraries(program, '/bin/busybox'),
    ...applets
      .filter((applet) => applet !== 'busybox')
      .map((applet): TarEntry => ({ kind: 'link', path: `bin/${applet}`, to: 'busybox' })),
    { kind: 'folder', path: 'tmp', mode: 0o1777 },
  ];
}
