// SPDX-License-Identifier: Apache-2.0
/** The credentials that `docker login` has left for a registry: in its config.json, or with the helper that this file names. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../../scripts/cache-folder.ts';
import { dockerHub } from './target.ts';

export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'password'; readonly user: string; readonly password: string }
  /** Exchanged for a token at the place that the registry names. */
  | { readonly kind: 'identity'; readonly token: string }
  /** Sent as it is. */
  | { readonly kind: 'bearer'; readonly token: string };

interface Entry {
  readonly auth?: string;
  readonly username?: string;
  readonly password?: string;
  readonly identitytoken?: string;
  readonly registrytoken?: string;
}

interface DockerConfig {
  readonly auths?: Readonly<Record<string, Entry>>;
  readonly credHelpers?: Readonly<Record<string, string>>;
  readonly credsStore?: string;
}

/** docker's own name for it. */
const hubKey = 'https://index.docker.io/v1/';
/** The user's name by which helpers mark a token. */
const tokenUser = '<token>';

export async function credentialsFor(host: string, env: Environment): Promise<Credentials> {
  const path = join(env['DOCKER_CONFIG'] || join(homedir(), '.docker'), 'config.json');
  const { auths = {}, credHelpers = {}, credsStore } = readConfig(path);
  const key = host === dockerHub ? hubKey : host;
  const helper = credHelpers[key] ?? credsStore;
  const found = helper ? await askHelper(helper, key, env) : undefined;
  if (found !== undefined) return found;
  const entry = auths[key] ?? Object.entries(auths).find(([name]) => hostOf(name) === host)?.[1];
  return entry === undefined ? { kind: 'none' } : fromEntry(entry, `${path}, ${key}`);
}

function readConfig(path: string): DockerConfig {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Error(`${path} cannot be read`, { cause });
  }
  try {
    return JSON.parse(text) as DockerConfig;
  } catch {
    // Without the parser's own words, which quote the file.
    throw new Error(`${path} is not JSON`);
  }
}

/** Older files have addresses as keys: `https://ghcr.io/v2/`. */
function hostOf(key: string): string {
  return key.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
}

function fromEntry({ auth, username, password, identitytoken, registrytoken }: Entry, where: string): Credentials {
  if (registrytoken) return { kind: 'bearer', token: registrytoken };
  if (identitytoken) return { kind: 'identity', token: identitytoken };
  if (auth) {
    const text = Buffer.from(auth, 'base64').toString();
    const colon = text.indexOf(':');
    if (colon < 1) throw new Error(`${where}: "auth" is not user:password in base64; log in again`);
    // docker pads with zeros.
    return { kind: 'password', user: text.slice(0, colon), password: text.slice(colon + 1).replace(/\0+$/, '') };
  }
  if (username && password) return { kind: 'password', user: username, password };
  return { kind: 'none' };
}

/** Undefined if the helper has none. */
async function askHelper(helper: string, key: string, env: Environment): Promise<Credentials | undefined> {
  const program = `docker-credential-${helper}`;
  const { code, output } = await new Promise<{ readonly code: number | string; readonly output: string }>((resolve) => {
    const child = execFile(program, ['get'], { env: { ...env }, timeout: 60_000 }, (error, stdout) =>
      resolve({ code: error === null ? 0 : (error.code ?? 'killed'), output: stdout }),
    );
    // A helper that ends without reading is judged by its exit code.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(key);
  });
  if (code === 'ENOENT') throw new Error(`docker's config.json names ${program}, and it is not in PATH`);
  if (code !== 0) {
    if (/credentials not found/.test(output)) return undefined;
    throw new Error(`${program} could not say the credentials for ${key} (exit code ${code})`);
  }
  let answer: { readonly Username?: string; readonly Secret?: string };
  try {
    answer = JSON.parse(output) as typeof answer;
  } catch {
    throw new Error(`${program} answered something that is not JSON`);
  }
  const { Username: user = '', Secret: secret = '' } = answer;
  if (secret === '') return undefined;
  return user === tokenUser ? { kind: 'identity', token: secret } : { kind: 'password', user, password: secret };
}
