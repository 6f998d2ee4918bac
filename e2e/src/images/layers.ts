// SPDX-License-Identifier: Apache-2.0
/**
 * The layers of our images: one layer with Node.js and its libraries, the same in all, and one with the program. No shell,
 * no package manager. The images of tests have a layer with programs of this machine in between.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { build } from 'esbuild';
import { repositoryRoot, type Program } from '../processes/program.ts';
import { layerOf, type Layer } from './docker-archive.ts';
import { machineProgram, whereIs, withLibraries } from './machine-programs.ts';
import { librariesOf, noticesOf, sbomOf } from './notices.ts';
import type { TarEntry } from './tar.ts';

export const nodePath = '/nodejs/bin/node';

/** The Node.js of package.json, users, the authorities that Node.js trusts, and an empty /tmp. */
export function runtimeLayer(): Layer {
  return layerOf([
    ...withLibraries(`${repositoryRoot}/node_modules/node/bin/node`, nodePath),
    text(
      'etc/passwd',
      'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n',
    ),
    text('etc/group', 'root:x:0:\nnonroot:x:65532:\n'),
    text('etc/nsswitch.conf', 'hosts: files dns\n'),
    text('etc/ssl/certs/ca-certificates.crt', `${rootCertificates.join('\n')}\n`),
    text('usr/share/doc/csi-sidecars/LICENSE', readFileSync(`${repositoryRoot}/LICENSE`, 'utf8')),
    { kind: 'folder', path: 'tmp', mode: 0o1777 },
  ]);
}

/** One executable file at the root, whose first line names the image's Node.js. Upstream's programs are files as well. */
export function programLayer({ name, origin, command, args }: Program): Layer {
  if (origin === 'source') throw new Error(`${name} is not built: run "npm run build" first`);
  if (origin === 'upstream')
    return layerOf([{ kind: 'file', path: name, content: readFileSync(command), mode: 0o755 }]);
  const libraries = librariesOf(name);
  return layerOf([
    { kind: 'file', path: name, content: withInterpreter(readFileSync(args[0]!, 'utf8')), mode: 0o755 },
    text(`usr/share/doc/${name}/THIRD-PARTY-NOTICES`, noticesOf(libraries)),
    text(`usr/share/doc/${name}/sbom.cdx.json`, sbomOf(name, libraries)),
  ]);
}

/** The programs that the test driver runs to mount, format and copy. */
export function storageToolsLayer(): Layer {
  const devices = ['mount', 'umount', 'losetup', 'blkid', 'blockdev', 'fsfreeze'];
  const fileSystems = ['mkfs.ext4', 'e2fsck', 'resize2fs', 'dumpe2fs', 'mkfs.xfs', 'xfs_growfs'];
  const files = ['cp', 'du', 'chgrp', 'chmod'];
  return layerOf([...devices, ...fileSystems, ...files].flatMap(machineProgram));
}

export const testDriverPath = '/test-driver.mjs';

export async function testDriverLayer(): Promise<Layer> {
  const { outputFiles } = await build({
    entryPoints: [`${repositoryRoot}/packages/test-driver/src/main.ts`],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    // Its libraries are CommonJS and ask for Node's modules with require.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  return layerOf([{ kind: 'file', path: testDriverPath.slice(1), content: outputFiles[0]!.contents }]);
}

/** A shell and its commands, for pods that write and read. */
export function busyboxLayer(): Layer {
  const busybox = whereIs('busybox');
  if (busybox === undefined) throw new Error('busybox is needed in an image and not on this machine');
  const applets = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).trim().split('\n');
  return layerOf([
    ...withLibraries(busybox, '/bin/busybox'),
    ...applets
      .filter((applet) => applet !== 'busybox')
      .map((applet): TarEntry => ({ kind: 'link', path: `bin/${applet}`, to: 'busybox' })),
    { kind: 'folder', path: 'tmp', mode: 0o1777 },
  ]);
}

function withInterpreter(program: string): Buffer {
  return Buffer.from(program.replace(/^#!.*\n/, `#!${nodePath}\n`));
}

function text(path: string, content: string): TarEntry {
  return { kind: 'file', path, content: Buffer.from(content) };
}
