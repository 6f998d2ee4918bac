// SPDX-License-Identifier: Apache-2.0
/**
 * Packages of Debian for any platform, on a machine of any platform: apt downloads them with lists of its own, so that nothing is
 * installed and the machine's lists stay as they are. apt checks Debian's signature; the pinned checksum is compared besides.
 */
import { execFile } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '../../../scripts/cache-folder.ts';
import { digestOf } from '../oci/layout.ts';
import { entriesOf, type TarEntry } from '../oci/tar.ts';
import { writeWhole, type SourceDeps } from './node-release.ts';
import type { DebianPin, PlatformName } from './pins.ts';

export interface DebianDeps extends SourceDeps {
  /**
   * Debian offers the newest version only, so a pinned one may be gone. `required`: that is an error. `preferred`: the newest is
   * taken and reported, for images of tests, which must not fail because of it.
   */
  readonly pinned: 'required' | 'preferred';
}

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  readonly entries: readonly TarEntry[];
}

const run = promisify(execFile);
const outputLimit = 256 * 2 ** 20;

export async function debianPackages(
  platform: PlatformName,
  deps: DebianDeps,
): Promise<ReadonlyMap<string, DebianPackage>> {
  const packages: [string, DebianPackage][] = [];
  for (const pin of deps.pins.debian.packages) packages.push([pin.name, await debianPackage(pin, platform, deps)]);
  return new Map(packages);
}

async function debianPackage(pin: DebianPin, platform: PlatformName, deps: DebianDeps): Promise<DebianPackage> {
  const { name } = pin;
  const sha256 = pin.sha256[platform];
  const path = join(cacheFolder(deps.env), 'images', 'debian', `${sha256}.deb`);
  if (!existsSync(path)) {
    const { version, content } = await download(pin, platform, deps);
    const found = digestOf(content).replace('sha256:', '');
    if (version === pin.version && found !== sha256) {
      throw new Error(
        `${name} ${version} for ${platform} has the checksum ${found}, and not ${sha256}, which is pinned`,
      );
    }
    if (version !== pin.version) return await unpacked(content, { name, version, sha256: found });
    writeWhole(path, content);
  }
  return await unpacked(readFileSync(path), { name, version: pin.version, sha256 });
}

async function unpacked(content: Buffer, about: Omit<DebianPackage, 'entries'>): Promise<DebianPackage> {
  const folder = mkdtempSync(join(tmpdir(), 'csi-sidecars-deb-'));
  try {
    const path = join(folder, 'package.deb');
    writeFileSync(path, content);
    const options = { encoding: 'buffer', maxBuffer: outputLimit } as const;
    const { stdout } = await run('dpkg-deb', ['--fsys-tarfile', path], options);
    return { ...about, entries: entriesOf(stdout) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Download {
  readonly version: string;
  readonly content: Buffer;
}

async function download(pin: DebianPin, platform: PlatformName, deps: DebianDeps): Promise<Download> {
  const { name, version } = pin;
  deps.report(`images: downloading ${name} ${version} for ${platform}`);
  try {
    return await downloadNow(`${name}=${version}`, platform, deps);
  } catch (cause) {
    if (deps.pinned === 'required') {
      const advice = 'if Debian has replaced it, run: npm run images -- --update-pins';
      throw new Error(`${name} ${version} could not be downloaded for ${platform}; ${advice}`, { cause });
    }
    const newest = await downloadNow(name, platform, deps);
    deps.report(`images: ${name} ${version} is not offered any more, ${newest.version} is used for tests`);
    return newest;
  }
}

/** `libc6` or `libc6=2.36-9`. */
export async function downloadNow(
  specifier: string,
  platform: PlatformName,
  { env }: Pick<SourceDeps, 'env'>,
): Promise<Download> {
  const options = await listsOf(platform, join(cacheFolder(env), 'images', 'apt'));
  const folder = mkdtempSync(join(tmpdir(), 'csi-sidecars-apt-'));
  try {
    await run('apt-get', [...options, 'download', specifier], { cwd: folder });
    const [file] = readdirSync(folder);
    if (file === undefined) throw new Error(`apt-get download ${specifier} left no file`);
    const { stdout } = await run('dpkg-deb', ['--field', join(folder, file), 'Version']);
    return { version: stdout.trim(), content: readFileSync(join(folder, file)) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Options that make apt use lists of its own for this platform. */
async function listsOf(platform: PlatformName, folder: string): Promise<readonly string[]> {
  const architecture = platform.slice('linux/'.length);
  const [state, sources] = [join(folder, architecture), join(folder, 'sources')];
  for (const path of ['lists/partial', 'archives/partial']) mkdirSync(join(state, path), { recursive: true });
  mkdirSync(sources, { recursive: true });
  // Packages of other origins have nothing to do with it.
  const own = globSync('/etc/apt/{sources.list,sources.list.d/*}').filter((path) =>
    readFileSync(path, 'utf8').includes('debian-archive-keyring'),
  );
  if (own.length === 0)
    throw new Error('apt has no sources of Debian here: use a Debian machine, or images/Dockerfile');
  for (const path of own) await copyFile(path, join(sources, basename(path)));
  const settings = {
    'Dir::Etc::sourcelist': '/dev/null',
    'Dir::Etc::sourceparts': sources,
    'Dir::State': state,
    'Dir::State::status': '/dev/null',
    'Dir::Cache': state,
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '2',
  };
  const options = ['--quiet', ...Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`])];
  if (!updated.has(state)) await run('apt-get', [...options, 'update']);
  updated.add(state);
  return options;
}

/** Lists that this process has made new. */
const updated = new Set<string>();
