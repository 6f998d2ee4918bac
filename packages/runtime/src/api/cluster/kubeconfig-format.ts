// SPDX-License-Identifier: Apache-2.0
/**
 * A kubeconfig file, and the part of it that its current context chooses. client-node's `KubeConfig` reads the entries, chooses
 * among them and resolves paths. It is handed the parsed document rather than the text, because its own `loadFromString`
 * differs from client-go where a user would notice; every difference is closed here:
 * - a file that is empty, or holds several documents: nothing, or the first one; client-node throws;
 * - an unused incomplete entry: ignored; client-node refuses the whole file, or drops the entry;
 * - a cluster without a server, which `--master` may name: kept; client-node refuses it;
 * - `tokenFile` and the extensions of a cluster: kept; client-node leaves them out. `token-file`, which it reads: not known;
 * - a relative command of an exec plugin: relative to the file; client-node resolves the paths of certificates only.
 */
import { dirname, isAbsolute, join } from 'node:path';
import { loadClientNode } from './client-node.ts';
import { type FileError, type Files, readText } from './files.ts';

export interface Cluster {
  readonly name: string;
  readonly server: string;
  readonly skipTLSVerify: boolean;
  readonly caData?: string;
  readonly caFile?: string;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
  readonly disableCompression?: unknown;
  readonly extensions?: unknown;
}

export interface User {
  readonly name: string;
  readonly certData?: string;
  readonly certFile?: string;
  readonly keyData?: string;
  readonly keyFile?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly impersonateUser?: string;
  readonly exec?: Exec;
  readonly authProvider?: { readonly name?: string };
}

export interface Exec {
  readonly command?: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly apiVersion?: string;
  readonly installHint?: string;
  readonly interactiveMode?: string;
  readonly provideClusterInfo?: boolean;
}

/** What the current context refers to; missing parts are empty. Paths are absolute, or relative as ours are. */
export interface Chosen {
  /** The name of the current context if there is no such one. */
  readonly missingContext?: string | undefined;
  readonly cluster: Cluster;
  readonly user: User;
}

/** Empty if the file names none. */
interface Named {
  readonly contextName: string;
  /** Of the context. */
  readonly namespace: string;
}

/** The configuration without a file. */
export const nothingChosen: Chosen = {
  cluster: { name: '', server: '', skipTLSVerify: false },
  user: { name: '' },
};

/** The path of a config that exists in memory. No file has it. */
export const memoryPath = '\0kubeconfig';

/** Files are merged as kubectl merges them: of each name, and of the current context, the first one counts. */
export interface Wanted {
  readonly paths: readonly string[];
  /** In place of the current context. Empty or absent: the current one. */
  readonly context?: string | undefined;
}

interface Context {
  readonly name: string;
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string;
}

/** Loads client-node, so it is called out of cluster only. */
export async function readKubeconfig(files: Files, { paths, context = '' }: Wanted): Promise<Chosen & Named> {
  const parts = [];
  for (const path of paths) parts.push(await readFile(files, path));
  const { KubeConfig } = await loadClientNode();
  const config = new KubeConfig();
  config.loadFromOptions({
    currentContext: context || (parts.find(({ current }) => current !== '')?.current ?? ''),
    contexts: firstOfName(parts.flatMap(({ contexts }) => contexts)),
    clusters: firstOfName(parts.flatMap(({ clusters }) => clusters)),
    users: firstOfName(parts.flatMap(({ users }) => users)),
  });
  const contextName = config.getCurrentContext();
  const found = contextName === '' ? null : config.getContextObject(contextName);
  return {
    contextName,
    namespace: found?.namespace ?? '',
    missingContext: contextName === '' || found !== null ? undefined : contextName,
    cluster: config.getCurrentCluster() ?? nothingChosen.cluster,
    user: config.getCurrentUser() ?? nothingChosen.user,
  };
}

interface Part {
  readonly current: string;
  readonly contexts: Context[];
  readonly clusters: Cluster[];
  readonly users: User[];
}

/** The entries of one file, with the paths in them resolved. */
async function readFile(files: Files, path: string): Promise<Part> {
  const document = await parse(files, path);
  const { KubeConfig, newClusters, newUsers } = await loadClientNode();
  const config = new KubeConfig();
  config.loadFromOptions({
    currentContext: document['current-context'] ?? '',
    contexts: named(document.contexts).map(({ name, context }) => ({ ...said(context), name })),
    clusters: named(document.clusters).flatMap(({ name, cluster }) => {
      const { server, 'disable-compression': disableCompression, extensions, ...fields } = said(cluster);
      // It cuts a slash off the end of the server, so that this one stands for none.
      const given = typeof server === 'string' && server !== '' ? server : '/';
      const read = newClusters([{ name, cluster: { ...fields, server: given } }]);
      return read.map((entry) => ({ ...entry, disableCompression, extensions }));
    }),
    users: named(document.users).flatMap(({ name, user }) => {
      const { tokenFile, 'token-file': _unknown, ...fields } = said(user);
      return newUsers([{ name, user: fields }]).map((entry) => ({ ...entry, tokenFile }));
    }),
  });
  config.makePathsAbsolute(dirname(path));
  const users: readonly User[] = config.users;
  return {
    current: config.getCurrentContext(),
    contexts: config.contexts,
    clusters: config.clusters,
    users: users.map((user) => withPaths(user, dirname(path))),
  };
}

function firstOfName<T extends { readonly name: string }>(entries: readonly T[]): T[] {
  return entries.filter((entry, index) => entries.findIndex(({ name }) => name === entry.name) === index);
}

function withPaths(user: User, folder: string): User {
  const resolve = (path: string): string => (path === '' || isAbsolute(path) ? path : join(folder, path));
  const { tokenFile, exec } = user;
  return {
    ...user,
    ...(typeof tokenFile === 'string' && { tokenFile: resolve(tokenFile) }),
    // A command without a slash is looked up in PATH.
    ...(exec?.command?.includes('/') === true && { exec: { ...exec, command: resolve(exec.command) } }),
  };
}

type Fields = Readonly<Record<string, unknown>>;

interface Entry {
  readonly name: string;
  readonly context?: Fields | null;
  readonly cluster?: Fields | null;
  readonly user?: Fields | null;
}

type Entries = readonly (Entry | null)[] | null;

interface Document {
  readonly 'current-context'?: string | null;
  readonly contexts?: Entries;
  readonly clusters?: Entries;
  readonly users?: Entries;
}

function named(entries: Entries | undefined): readonly Entry[] {
  return Array.isArray(entries) ? entries.filter((entry: Entry | null) => (entry?.name ?? '') !== '') : [];
}

/** In YAML, null means absent. */
function said(fields: Fields | null | undefined): Fields {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([, value]) => value !== null));
}

async function parse(files: Files, path: string): Promise<Document> {
  let text: string;
  try {
    text = await readText(files, path);
  } catch (error) {
    const missing = (error as FileError).code === 'ENOENT';
    throw missing ? new Error(`stat ${path}: no such file or directory`) : unreadable(path, error);
  }
  // Needed out of cluster only, so it is loaded here.
  const { loadAll } = await import('js-yaml');
  let parsed: unknown;
  try {
    parsed = loadAll(text)[0];
  } catch (error) {
    throw unreadable(path, error);
  }
  if (typeof (parsed ?? {}) !== 'object') throw unreadable(path, new Error('it is not a mapping'));
  return parsed ?? {};
}

/** Without a cause, and with the first line only: the rest of a YAML error quotes the file, which holds secrets. */
function unreadable(path: string, error: unknown): Error {
  const what = path === memoryPath ? 'the KubeConfig' : `config file "${path}"`;
  return new Error(`error loading ${what}: ${(error as Error).message.split('\n')[0]}`);
}
