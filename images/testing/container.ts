// SPDX-License-Identifier: Apache-2.0
/**
 * Containers of our images by runc alone, as kubelet's runtime starts them: own process, mount, IPC and host name spaces, a memory limit, a
 * read-only root. No daemon is needed, and a test chooses user, limit and mounts. Needs root.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeTree } from '../src/oci/tree.ts';
import type { Inspected } from './inspect.ts';

export interface ContainerOptions {
  /** In place of the image's entrypoint. */
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  /** Added to those of the image. */
  readonly env?: Readonly<Record<string, string>>;
  readonly uid?: number;
  readonly gid?: number;
  readonly memoryMib?: number;
  /** Path in the container -> folder of this machine. */
  readonly mounts?: Readonly<Record<string, string>>;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Container extends AsyncDisposable {
  /** As this machine sees it. */
  readonly pid: () => Promise<number>;
  readonly ended: Promise<Ended>;
  readonly logged: () => string;
  signal(name: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  exec(command: readonly string[]): Promise<Ended>;
}

/** An image unpacked, for any number of containers one after the other or at once. */
export interface Unpacked extends Disposable {
  start(options?: ContainerOptions): Container;
  /** Runs it to its end. */
  run(options?: ContainerOptions): Promise<Ended>;
  /** The next start reads it from the disk. */
  dropFromPageCache(): void;
  readonly root: string;
}

let count = 0;

export function unpack({ layers, config }: Inspected): Unpacked {
  const folder = mkdtempSync(join(tmpdir(), 'csi-sidecars-container-'));
  const root = join(folder, 'root');
  for (const { entries } of layers) writeTree(root, entries);
  const start = (options: ContainerOptions = {}): Container => {
    count += 1;
    return startContainer({ folder, root, id: `csi-sidecars-${process.pid}-${count}` }, { config, options });
  };
  return {
    root,
    start,
    run: async (options) => {
      await using container = start(options);
      return await container.ended;
    },
    dropFromPageCache: () => {
      execFileSync('sync', ['-f', root]);
      for (const path of globSync(`${root}/**`, { withFileTypes: true }).filter((each) => each.isFile())) {
        // Asks the kernel to forget the pages of this file; those of other files stay.
        execFileSync('dd', [`if=${join(path.parentPath, path.name)}`, 'iflag=nocache', 'count=0', 'status=none']);
      }
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

interface Place {
  readonly folder: string;
  readonly root: string;
  readonly id: string;
}

interface Start {
  readonly config: Inspected['config'];
  readonly options: ContainerOptions;
}

function startContainer({ folder, root, id }: Place, { config, options }: Start): Container {
  const bundle = join(folder, id);
  mkdirSync(bundle);
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(bundleOf({ id, root }, { config, options })));
  const runc = ['--root', join(folder, 'runc')];
  const child = spawn('runc', [...runc, 'run', '--bundle', bundle, id], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (output.stderr += text));
  const { promise: ended, resolve, reject } = Promise.withResolvers<Ended>();
  child.once('error', reject);
  child.once('close', (code) => resolve({ code, ...output }));
  let isOver = false;
  void ended.then(
    () => void (isOver = true),
    () => void (isOver = true),
  );
  const call = async (...args: readonly string[]): Promise<Ended> =>
    await promisify(execFile)('runc', [...runc, ...args]).then(
      (result) => ({ code: 0, ...result }),
      (error: Ended & { readonly code: number | null }) => ({
        code: error.code,
        stdout: error.stdout,
        stderr: error.stderr,
      }),
    );
  const state = async (): Promise<{ readonly pid?: number }> => {
    const { stdout } = await call('state', id);
    return stdout === '' ? {} : (JSON.parse(stdout) as { readonly pid?: number });
  };
  return {
    pid: async () => {
      for (;;) {
        const { pid = 0 } = await state();
        if (pid > 0) return pid;
        if (isOver) throw new Error(`the container has ended: ${output.stderr}`);
      }
    },
    ended,
    logged: () => output.stderr,
    signal: async (name) => void (await call('kill', id, name)),
    exec: async (command) => await call('exec', id, ...command),
    [Symbol.asyncDispose]: async () => {
      const over = ended.then(
        () => true,
        () => true,
      );
      // Again, because a container that is being created cannot be killed yet.
      do await call('kill', id, 'SIGKILL');
      while (!(await Promise.race([over, pause(50).then(() => false)])));
      await call('delete', '--force', id);
    },
  };
}

function bundleOf({ id, root }: Pick<Place, 'id' | 'root'>, { config, options }: Start): object {
  const {
    command = config.Entrypoint ?? [],
    args = [],
    env = {},
    uid = 0,
    gid = uid,
    memoryMib,
    mounts = {},
  } = options;
  const variables = new Map([...config.Env.map((text) => splitAt(text, '=')), ...Object.entries(env)]);
  return {
    ociVersion: '1.0.2',
    process: {
      terminal: false,
      user: { uid, gid },
      args: [...command, ...args],
      env: [...variables].map(([name, value]) => `${name}=${value}`),
      cwd: '/',
      capabilities: { bounding: [], effective: [], permitted: [] },
      noNewPrivileges: true,
    },
    root: { path: root, readonly: true },
    hostname: 'container',
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=65536k'] },
      // Node.js reads the memory limit there; without it, percentages are those of the machine.
      { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['nosuid', 'noexec', 'nodev', 'ro'] },
      { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup', options: ['nosuid', 'noexec', 'nodev', 'ro'] },
      ...Object.entries(mounts).map(([destination, source]) => ({
        destination,
        source,
        type: 'bind',
        options: ['rbind', 'rw'],
      })),
    ],
    linux: {
      cgroupsPath: `/${id}`,
      namespaces: ['pid', 'mount', 'ipc', 'uts'].map((type) => ({ type })),
      resources: memoryMib === undefined ? {} : { memory: { limit: memoryMib * 2 ** 20 } },
    },
  };
}

function splitAt(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** `RssAnon` of a process, in MiB. */
export function anonymousMib(pid: number): number {
  const [, kib] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

/** Children of a process, also those that have ended and were not waited for. */
export function childrenOf(pid: number): readonly number[] {
  return globSync('/proc/[0-9]*')
    .map((path) => Number(path.slice('/proc/'.length)))
    .filter((each) => new RegExp(`^PPid:\\t${pid}$`, 'm').test(textOf(`/proc/${each}/status`)));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The words of its command line; none for a process that is gone. */
export function commandOf(pid: number): readonly string[] {
  return textOf(`/proc/${pid}/cmdline`).split('\0');
}

export async function until(holds: () => boolean, limitMs = 10_000): Promise<void> {
  for (const startedMs = performance.now(); performance.now() - startedMs < limitMs;) {
    if (holds()) return;
    await pause(20);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}
