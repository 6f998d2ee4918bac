// SPDX-License-Identifier: Apache-2.0
/**
 * The layers of images that exist for tests only: the test driver with the programs of this machine that it runs, a shell for pods,
 * and upstream's programs. Libraries are this machine's, also those of the test driver's Node.js, so that they fit together.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { layerOf, nodePath, type Compress, type Layer, type TarEntry } from '@csi-sidecars/images';
import { build } from 'esbuild';
import { repositoryRoot, type Program } from '../processes/program.ts';
import { machineProgram, whereIs, withLibraries } from './machine-programs.ts';

const testDriverPath = '/test-driver.mjs';
export const testDriverEntrypoint: readonly string[] = [nodePath, testDriverPath];
const relayPath = '/relay.mjs';
/** In the test driver's image; the sockets are its arguments. */
export const relayCommand: readonly string[] = [nodePath, relayPath];

/** These layers are unpacked once, on the machine that packed them. */
const quickly: Compress = (tar) => gzipSync(tar, { level: 1 });

export async function testDriverLayers(): Promise<readonly Layer[]> {
  const runtime = [
    ...withLibraries(process.execPath, nodePath),
    { kind: 'folder', path: 'tmp', mode: 0o1777 } as const,
  ];
  return [
    layerOf('Node.js', runtime, quickly),
    layerOf('programs that mount, format and copy', storageTools(), quickly),
    layerOf('the test driver', [await testDriver(), await relay()], quickly),
  ];
}

export function busyboxLayer(): Layer {
  return layerOf('a shell and its commands', busybox(), quickly);
}

/** Programs of this machine, in the place of the shell's own. */
export function programsLayer(names: readonly string[]): Layer {
  return layerOf(names.join(' and '), names.flatMap(machineProgram), quickly);
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

function testDriver(): Promise<TarEntry> {
  return bundled('packages/test-driver/src/main.ts', testDriverPath);
}

function relay(): Promise<TarEntry> {
  return bundled('e2e/src/driver/relay.ts', relayPath);
}

async function bundled(source: string, path: string): Promise<TarEntry> {
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
