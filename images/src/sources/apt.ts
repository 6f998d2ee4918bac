// SPDX-License-Identifier: Apache-2.0
/**
 * What Debian offers now, for any platform, on a Debian machine of any platform: apt downloads with lists of its own, so that nothing is
 * installed and the machine's lists stay as they are. apt checks Debian's signature.
 */
import { execFile } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, type Environment } from '../../../scripts/cache-folder.ts';
import type { PlatformName } from './pins.ts';

export interface Offered {
  readonly version: string;
  /** Below the pool of an archive, for example `g/glibc`. */
  readonly folder: string;
  readonly content: Buffer;
}

const run = promisify(execFile);

export async function newestByApt(name: string, platform: PlatformName, env: Environment): Promise<Offered> {
  const options = await listsOf(platform, join(cacheFolder(env), 'images', 'apt'));
  const { stdout } = await run('apt-get', [...options, 'download', '--print-uris', name]);
  const folder = /\/pool\/(?:updates\/)?main\/([^']+)\/[^/']+'/.exec(stdout)?.[1];
  if (folder === undefined) throw new Error(`apt names no place for ${name}: ${stdout}`);
  const work = mkdtempSync(join(tmpdir(), 'csi-sidecars-apt-'));
  try {
    await run('apt-get', [...options, 'download', name], { cwd: work });
    const [file = ''] = readdirSync(work);
    // libc6_2.36-9+deb12u14_amd64.deb; apt escapes the colon of an epoch.
    const [, version] = file.split('_');
    if (version === undefined) throw new Error(`apt-get download ${name} left no package`);
    return { version: decodeURIComponent(version), folder, content: readFileSync(join(work, file)) };
  } finally {
    rmSync(work, { recursive: true, force: true });
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
  if (own.length === 0) throw new Error('this is no Debian machine with apt');
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
