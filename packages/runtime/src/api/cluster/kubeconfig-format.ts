// SPDX-License-Identifier: Apache-2.0
/** The kubeconfig format, as far as it is read, and the part of a file that its current context chooses. */
import { dirname, isAbsolute, join } from 'node:path';
import { type Files, readText } from './files.ts';

export interface Kubeconfig {
  readonly 'current-context'?: string;
  readonly contexts?: readonly { readonly name: string; readonly context?: Context | null }[] | null;
  readonly clusters?: readonly { readonly name: string; readonly cluster?: Cluster | null }[] | null;
  readonly users?: readonly { readonly name: string; readonly user?: AuthInfo | null }[] | null;
}

export interface Context {
  readonly cluster?: string;
  readonly user?: string;
}

export interface Cluster {
  readonly server?: string;
  readonly 'certificate-authority'?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'tls-server-name'?: string;
  readonly 'proxy-url'?: string;
}

export interface AuthInfo {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly 'client-certificate'?: string;
  readonly 'client-certificate-data'?: string;
  readonly 'client-key'?: string;
  readonly 'client-key-data'?: string;
  readonly as?: string;
  readonly 'auth-provider'?: { readonly name?: string } | null;
  readonly exec?: Exec | null;
}

export interface Exec {
  readonly command?: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly apiVersion?: string;
}

/** The current context and what it refers to; what is missing is empty. Paths are absolute, or relative as ours are. */
export interface Chosen {
  readonly contextName: string;
  readonly contextExists: boolean;
  readonly clusterName: string;
  readonly cluster: Cluster;
  readonly userName: string;
  readonly user: AuthInfo;
}

export async function readKubeconfig(files: Files, path: string): Promise<Chosen> {
  return resolvePaths(choose(await parse(files, path)), dirname(path));
}

export function choose(config: Kubeconfig): Chosen {
  const contextName = config['current-context'] ?? '';
  const found = config.contexts?.find(({ name }) => name === contextName);
  const clusterName = found?.context?.cluster ?? '';
  const userName = found?.context?.user ?? '';
  return {
    contextName,
    contextExists: found !== undefined,
    clusterName,
    cluster: config.clusters?.find(({ name }) => name === clusterName)?.cluster ?? {},
    userName,
    user: config.users?.find(({ name }) => name === userName)?.user ?? {},
  };
}

async function parse(files: Files, path: string): Promise<Kubeconfig> {
  let text: string;
  try {
    text = await readText(files, path);
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw missing ? new Error(`stat ${path}: no such file or directory`, { cause: error }) : unreadable(path, error);
  }
  // Needed out of cluster only, so it is loaded here.
  const { loadAll } = await import('js-yaml');
  let parsed: unknown;
  try {
    // The first document, as Go does it; an empty file has none.
    parsed = loadAll(text)[0];
  } catch (error) {
    throw unreadable(path, error);
  }
  if (typeof (parsed ?? {}) !== 'object') throw unreadable(path, new Error('the file is not a mapping'));
  return parsed ?? {};
}

/** Without a cause, and with the first line only: the rest of a YAML error quotes the file, which holds secrets. */
function unreadable(path: string, error: unknown): Error {
  return new Error(`error loading config file "${path}": ${(error as Error).message.split('\n', 1)[0]}`);
}

function resolvePaths(chosen: Chosen, folder: string): Chosen {
  const resolve = <T extends object>(object: T, names: readonly (keyof T & string)[]): T => {
    const changed: Record<string, string> = {};
    for (const name of names) {
      const path = object[name];
      if (typeof path === 'string' && path !== '' && !isAbsolute(path)) changed[name] = join(folder, path);
    }
    return { ...object, ...changed };
  };
  const user = resolve(chosen.user, ['client-certificate', 'client-key', 'tokenFile']);
  // A command without a slash is looked up in PATH.
  const exec = user.exec?.command?.includes('/') === true ? resolve(user.exec, ['command']) : user.exec;
  return {
    ...chosen,
    cluster: resolve(chosen.cluster, ['certificate-authority']),
    user: { ...user, ...(exec !== undefined && { exec }) },
  };
}
