// SPDX-License-Identifier: Apache-2.0
/**
 * The pinned packages of Debian, by their checksums: from the cache, Debian's archive, or its archive of everything that it ever had.
 * What these do not have is left to apt, on a machine that has it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../../../scripts/cache-folder.ts';
import { sha256Of } from '../content/digests.ts';
import type { TarEntry } from '../oci/tar.ts';
import { newestByApt, type Offered } from './apt.ts';
import { filesOfDeb } from './deb.ts';
import { writeWhole, type SourceDeps } from './node-release.ts';
import type { DebianPin, PlatformName } from './pins.ts';

export interface DebianDeps extends SourceDeps {
  /**
   * What happens when a pinned package cannot be had: `required`: an error, for releases. `preferred`: Debian's newest is taken, with
   * a warning, so that nothing else fails because Debian has published something.
   */
  readonly pinned: 'required' | 'preferred';
  /** Default: Debian's own. */
  readonly archives?: Archives;
  /** Default: by apt. */
  readonly newest?: (name: string, platform: PlatformName) => Promise<Offered>;
}

export interface Archives {
  readonly debian: string;
  /** With everything that was ever published, by SHA-1. */
  readonly snapshot: string;
}

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  readonly entries: readonly TarEntry[];
}

const debianArchives: Archives = { debian: 'https://deb.debian.org', snapshot: 'https://snapshot.debian.org' };
const timeoutMs = 60_000;

export async function debianPackages(
  platform: PlatformName,
  deps: DebianDeps,
): Promise<ReadonlyMap<string, DebianPackage>> {
  const packages: [string, DebianPackage][] = [];
  for (const pin of deps.pins.debian.packages) {
    const { version, content } = await contentOf(pin, platform, deps);
    const [sha256, entries] = [sha256Of(content), await filesOfDeb(content)];
    packages.push([pin.name, { name: pin.name, version, sha256, entries }]);
  }
  return new Map(packages);
}

type Content = Pick<Offered, 'version' | 'content'>;

async function contentOf(pin: DebianPin, platform: PlatformName, deps: DebianDeps): Promise<Content> {
  const { name, version } = pin;
  const wanted = pin.sha256[platform];
  const folder = join(cacheFolder(deps.env), 'images', 'debian');
  const path = join(folder, `${wanted}.deb`);
  const cached = existsSync(path) ? readFileSync(path) : undefined;
  if (cached !== undefined && sha256Of(cached) === wanted) return { version, content: cached };
  const standIns = join(folder, `instead-of-${wanted}`);
  const [standIn] =
    deps.pinned === 'preferred' && existsSync(standIns)
      ? readdirSync(standIns).filter((name) => !name.endsWith('.tmp'))
      : [];
  if (standIn !== undefined)
    return warned(pin, { version: standIn, content: readFileSync(join(standIns, standIn)) }, deps);

  const what = `${name} ${version} for ${platform}`;
  deps.report(`images: downloading ${what}`);
  const reasons: string[] = [];
  for (const address of addressesOf(pin, platform, deps.archives)) {
    const found = await download(address);
    if (typeof found === 'string') reasons.push(`${address}: ${found}`);
    else if (sha256Of(found) !== wanted) reasons.push(`${address}: its checksum is not ${wanted}, which is pinned`);
    else {
      writeWhole(path, found);
      return { version, content: found };
    }
  }
  const { newest = (of, on) => newestByApt(of, on, deps.env) } = deps;
  const offered = await newest(name, platform).catch((error: unknown) => {
    reasons.push(`apt: ${error instanceof Error ? error.message.trim() : String(error)}`);
    return undefined;
  });
  if (offered !== undefined && sha256Of(offered.content) === wanted) {
    writeWhole(path, offered.content);
    return { version, content: offered.content };
  }
  if (offered !== undefined && offered.version !== version && deps.pinned === 'preferred') {
    writeWhole(join(standIns, offered.version), offered.content);
    return warned(pin, offered, deps);
  }
  if (offered !== undefined) {
    reasons.push(`apt: it offers ${offered.version} with the checksum ${sha256Of(offered.content)}`);
  }
  const advice = 'If Debian has replaced it, `npm run images -- --update-pins` on a Debian machine renews the pins.';
  throw new Error([`${what} could not be downloaded:`, ...reasons.map((reason) => `  ${reason}`), advice].join('\n'));
}

function warned({ name, version }: DebianPin, content: Content, { report }: DebianDeps): Content {
  report(`images: WARNING: ${name} ${version}, which is pinned, cannot be had any more.`);
  report(`images: WARNING: ${name} ${content.version} is used instead, so these images are not those of a release.`);
  return content;
}

/** Where a package may be: security updates have an archive of their own until the next point release. */
export function addressesOf(
  { name, version, folder, sha1 }: DebianPin,
  platform: PlatformName,
  { debian, snapshot }: Archives = debianArchives,
): readonly string[] {
  // An epoch is not part of file names.
  const file = `${name}_${version.replace(/^\d+:/, '')}_${platform.slice('linux/'.length)}.deb`;
  return [
    `${debian}/debian/pool/main/${folder}/${file}`,
    `${debian}/debian-security/pool/updates/main/${folder}/${file}`,
    `${snapshot}/file/${sha1[platform]}`,
  ];
}

/** Or why not. */
async function download(address: string): Promise<Buffer | string> {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(timeoutMs) });
    if (response.ok) return Buffer.from(await response.arrayBuffer());
    await response.body?.cancel();
    return `${response.status}`;
  } catch (error) {
    const { message, cause } = error as Error;
    return cause instanceof Error && cause.message !== '' ? cause.message : message;
  }
}
