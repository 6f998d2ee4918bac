// SPDX-License-Identifier: Apache-2.0
/**
 * The layer below every program: Node.js, the libraries that it is linked with, users, authorities, and an empty /tmp. It is the same
 * in all images of a platform, to the byte, so that a node keeps one copy of Node.js in its page cache. Nothing in it depends on
 * our version or on the time of the build.
 */
import { rootCertificates } from 'node:tls';
import type { TarEntry } from '../oci/tar.ts';
import { debianPackages, type DebianDeps, type DebianPackage } from '../sources/debian.ts';
import { nodeRelease } from '../sources/node-release.ts';
import type { PlatformName } from '../sources/pins.ts';
import { interpreterOf, neededBy, strippedElf } from './elf.ts';
import { purlOfDebian, spdxOf, type SpdxFile, type SpdxPackage } from './spdx.ts';
import { digestsOf } from './digests.ts';

export const nodePath = '/nodejs/bin/node';
const nodeDocuments = 'usr/share/doc/node';

/** Where a platform has its libraries. */
const libraryFolders: Readonly<Record<PlatformName, string>> = {
  'linux/amd64': 'lib/x86_64-linux-gnu',
  'linux/arm64': 'lib/aarch64-linux-gnu',
};

/** Licences of the libraries as SPDX expressions; the texts are Debian's files `copyright`. */
const licenses: Readonly<Record<string, string>> = {
  libc6: 'LGPL-2.1-or-later',
  'libgcc-s1': 'GPL-3.0-or-later WITH GCC-exception-3.1',
  'libstdc++6': 'GPL-3.0-or-later WITH GCC-exception-3.1',
};
/** Where Debian has the text: packages of one source share it. */
const copyrightOf: Readonly<Record<string, string>> = { 'libgcc-s1': 'gcc-12-base', 'libstdc++6': 'gcc-12-base' };

export interface RuntimeContent {
  readonly entries: readonly TarEntry[];
  readonly packages: readonly SpdxPackage[];
}

export async function runtimeContent(platform: PlatformName, deps: DebianDeps): Promise<RuntimeContent> {
  checkOwnNode(deps.pins.node.version);
  const release = await nodeRelease(platform, deps);
  const debian = await debianPackages(platform, deps);
  const libraries = librariesFor(release.binary, platform, debian);
  const node = file(nodePath, strippedElf(release.binary), 0o755);
  const packages: readonly SpdxPackage[] = [
    {
      name: 'node',
      version: deps.pins.node.version,
      license: 'MIT',
      purl: `pkg:generic/node@${deps.pins.node.version}`,
      files: [spdxFile(node)],
    },
    ...Object.entries(licenses).map(([name, license]) => {
      const { version, sha256 } = found(debian, name);
      const files = libraries.filter((each) => each.from === name).map(({ entry }) => spdxFile(entry));
      return {
        name,
        version,
        license,
        sha256,
        purl: purlOfDebian({ name, version, platform, release: deps.pins.debian.release }),
        files,
      };
    }),
  ];
  const documents = Object.keys(licenses).map((name) => copyright(name, debian));
  return {
    packages,
    entries: [
      node,
      ...libraries.map(({ entry }) => entry),
      ...documents,
      file(`${nodeDocuments}/LICENSE`, release.license),
      file(`${nodeDocuments}/sbom.spdx.json`, spdxOf({ name: `runtime ${platform}`, packages })),
      text(
        'etc/passwd',
        'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n',
      ),
      text('etc/group', 'root:x:0:\nnonroot:x:65532:\n'),
      text('etc/nsswitch.conf', 'hosts: files dns\n'),
      text('etc/ssl/certs/ca-certificates.crt', `${rootCertificates.join('\n')}\n`),
      { kind: 'folder', path: 'tmp', mode: 0o1777 },
    ],
  };
}

type FileEntry = Extract<TarEntry, { kind: 'file' }>;

interface Library {
  readonly from: string;
  readonly entry: FileEntry;
}

/** All that the loader will look for, what libraries need included; the loader itself is where the kernel looks for it. */
function librariesFor(
  binary: Buffer,
  platform: PlatformName,
  debian: ReadonlyMap<string, DebianPackage>,
): readonly Library[] {
  const interpreter = interpreterOf(binary);
  if (interpreter === undefined) throw new Error('Node.js names no loader');
  const loader = interpreter.slice(interpreter.lastIndexOf('/') + 1);
  const libraries = new Map<string, Library>();
  const add = (name: string): void => {
    if (libraries.has(name)) return;
    const path = name === loader ? interpreter : `/${libraryFolders[platform]}/${name}`;
    const { from, content } = libraryNamed(name, debian);
    libraries.set(name, { from, entry: file(path, content, 0o755) });
    neededBy(content).forEach(add);
  };
  [loader, ...neededBy(binary)].forEach(add);
  return [...libraries.values()];
}

/** `libstdc++.so.6` is a link to `libstdc++.so.6.0.30`; the file goes into the image under the name that is looked for. */
function libraryNamed(
  name: string,
  debian: ReadonlyMap<string, DebianPackage>,
): { readonly from: string; readonly content: Buffer } {
  for (const { name: from, entries } of debian.values()) {
    const named = (wanted: string): TarEntry[] =>
      entries.filter(({ kind, path }) => kind !== 'folder' && path.endsWith(`-linux-gnu/${wanted}`));
    const link = named(name).find((entry) => entry.kind === 'link');
    const [entry] = named(link?.to ?? name).filter((each) => each.kind === 'file');
    if (entry !== undefined) return { from, content: Buffer.from(entry.content) };
  }
  throw new Error(`none of the pinned packages has ${name}`);
}

function copyright(name: string, debian: ReadonlyMap<string, DebianPackage>): TarEntry {
  const source = copyrightOf[name] ?? name;
  const path = `usr/share/doc/${source}/copyright`;
  const entry = found(debian, source).entries.find((each) => each.kind === 'file' && each.path === path);
  if (entry?.kind !== 'file') throw new Error(`${source} has no ${path}`);
  return file(`usr/share/doc/${name}/copyright`, entry.content);
}

/** Its list of authorities becomes a file of the image. */
function checkOwnNode(version: string): void {
  if (process.versions.node === version) return;
  throw new Error(`images are written by Node.js ${version}, as pinned, and this is ${process.versions.node}`);
}

function found(debian: ReadonlyMap<string, DebianPackage>, name: string): DebianPackage {
  const it = debian.get(name);
  if (it === undefined) throw new Error(`${name} is not among the pinned packages`);
  return it;
}

function spdxFile({ path, content }: FileEntry): SpdxFile {
  return { path, ...digestsOf(content) };
}

function text(path: string, content: string): FileEntry {
  return file(path, Buffer.from(content));
}

function file(path: string, content: Uint8Array | string, mode = 0o644): FileEntry {
  return { kind: 'file', path: path.replace(/^\//, ''), content: Buffer.from(content), mode };
}
