// SPDX-License-Identifier: Apache-2.0
/** Renews pins.json: the Node.js that package-lock.json names, and what Debian offers now. The difference is for people to read. */
import type { Environment } from '../../../scripts/cache-folder.ts';
import { digestsOf, sha256Of, type Digests } from '../content/digests.ts';
import { newestByApt } from './apt.ts';
import { npmPackage } from './npm-package.ts';
import { platformNames, readPins, writePins, type DebianPin, type PlatformName } from './pins.ts';

export interface UpdateDeps {
  readonly env: Environment;
  readonly report: (line: string) => void;
}

type PerPlatform<T> = Record<PlatformName, T>;

export async function updatePins({ env, report }: UpdateDeps): Promise<void> {
  const before = readPins();
  const { node: version } = process.versions;
  const node = await perPlatform(async (platform) => {
    const { package: name } = before.node.platforms[platform];
    report(`images: reading ${name}@${version}`);
    const files = await npmPackage(`${name}@${version}`, (path) => path === 'bin/node');
    return { package: name, sha256: sha256Of(files.get('bin/node')!) };
  });
  const packages: DebianPin[] = [];
  for (const { name } of before.debian.packages) {
    report(`images: reading ${name}`);
    const offered = await perPlatform((platform) => newestByApt(name, platform, env));
    const versions = new Set(Object.values(offered).map((each) => each.version));
    if (versions.size > 1) throw new Error(`Debian has ${name} in several versions: ${[...versions].join(', ')}`);
    const { version: offeredVersion, folder } = offered[platformNames[0]!];
    const checksums = (kind: keyof Digests): Promise<PerPlatform<string>> =>
      perPlatform((platform) => Promise.resolve(digestsOf(offered[platform].content)[kind]));
    packages.push({
      name,
      version: offeredVersion,
      folder,
      sha256: await checksums('sha256'),
      sha1: await checksums('sha1'),
    });
  }
  writePins({ node: { version, platforms: node }, debian: { ...before.debian, packages } });
  report('images: pins.json is renewed');
}

async function perPlatform<T>(of: (platform: PlatformName) => Promise<T>): Promise<PerPlatform<T>> {
  const values: Partial<PerPlatform<T>> = {};
  for (const platform of platformNames) values[platform] = await of(platform);
  return values as PerPlatform<T>;
}
