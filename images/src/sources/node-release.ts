// SPDX-License-Identifier: Apache-2.0
/** The official Node.js of a platform, from npm, held against the pinned checksum, and kept in the cache. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheFolder, type Environment } from '../../../scripts/cache-folder.ts';
import { sha256Of } from '../content/digests.ts';
import { npmPackage } from './npm-package.ts';
import type { Pins, PlatformName } from './pins.ts';

export interface NodeRelease {
  readonly binary: Buffer;
  readonly license: Buffer;
}

export interface SourceDeps {
  readonly env: Environment;
  readonly pins: Pins;
  /** Progress, one line at a time. */
  readonly report: (line: string) => void;
}

export async function nodeRelease(platform: PlatformName, { env, pins, report }: SourceDeps): Promise<NodeRelease> {
  const { version, platforms } = pins.node;
  const { package: name, sha256 } = platforms[platform];
  const folder = join(cacheFolder(env), 'images', `${name}-${version}`);
  const paths = { binary: join(folder, 'bin/node'), license: join(folder, 'LICENSE') };
  if (!existsSync(paths.license)) {
    report(`images: downloading ${name}@${version}`);
    const files = await npmPackage(`${name}@${version}`, (path) => path === 'bin/node' || path === 'LICENSE');
    for (const [path, content] of files) writeWhole(join(folder, path), content);
  }
  const release = { binary: readFileSync(paths.binary), license: readFileSync(paths.license) };
  const found = sha256Of(release.binary);
  if (found !== sha256) {
    throw new Error(`${paths.binary} has the checksum ${found}, and not ${sha256}, which is pinned for ${platform}`);
  }
  return release;
}

/** A run that is killed leaves nothing that looks finished. */
export function writeWhole(path: string, content: Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}.tmp`;
  writeFileSync(draft, content);
  renameSync(draft, path);
}
