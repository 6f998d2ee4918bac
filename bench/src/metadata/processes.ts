// SPDX-License-Identifier: Apache-2.0
/** The sidecar, its driver and its callers, each a process of its own. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { delimiter, dirname, join } from 'node:path';
import { type Clock, systemClock } from '@csi-sidecars/runtime';
import { build } from 'esbuild';
import { memoryOf } from '../side-by-side/process-cost.ts';
import type { Command, ReadResult } from './callers.ts';

export const clock: Clock = systemClock();
const startLimitMs = 30_000;
const sampleEveryMs = 20;

export async function ended(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

export interface Process extends AsyncDisposable {
  readonly pid: number;
}

function processOf(child: ChildProcess): Process {
  if (child.pid === undefined) throw new Error(`${child.spawnfile} cannot be started`);
  return { pid: child.pid, [Symbol.asyncDispose]: () => ended(child) };
}

export async function startDriver(socket: string): Promise<Process> {
  const child = fork(join(import.meta.dirname, 'driver.ts'), [socket]);
  await once(child, 'message');
  return processOf(child);
}

/** As a bundle, as programs are: types that are stripped at the start leave garbage, in which the first streams would find room. */
export async function startBareServer(folder: string): Promise<Process & { readonly port: number }> {
  const outfile = join(folder, 'bare-server.cjs');
  const entryPoints = [join(import.meta.dirname, 'bare-server.ts')];
  await build({ entryPoints, outfile, bundle: true, minify: true, platform: 'node', format: 'cjs', logLevel: 'error' });
  const child = fork(outfile, [folder]);
  const [port] = (await once(child, 'message')) as [number];
  return { ...processOf(child), port };
}

export interface SidecarOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly healthPort: number;
  /** Answers once the program has started. Default: `/health`. */
  readonly readyPath?: string;
  /** For Node.js. */
  readonly env?: Readonly<Record<string, string>>;
}

export async function startSidecar(options: SidecarOptions): Promise<Process> {
  const { command, args, healthPort, readyPath = '/health', env: more } = options;
  // The Node.js that runs this comes first, whatever other versions the machine has.
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`;
  const child = spawn(command, args, { stdio: 'ignore', env: { ...process.env, PATH, ...more } });
  const untilMs = clock.monotonicMs() + startLimitMs;
  while (!(await answers(healthPort, readyPath))) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`);
    if (clock.monotonicMs() > untilMs) throw new Error(`${command} is not healthy after ${startLimitMs} ms`);
    await clock.sleep(20);
  }
  return processOf(child);
}

function answers(port: number, path: string): Promise<boolean> {
  return page(port, path).then(
    () => true,
    () => false,
  );
}

/** Rejects for a status other than 200. */
export function page(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(new Error(path))));
    });
    request.on('error', reject);
  });
}

export interface Callers extends AsyncDisposable {
  readonly read: (snapshot: string) => Promise<ReadResult>;
  readonly send: (command: Command) => Promise<unknown>;
}

export function startCallers(port: number, caFile: string): Callers {
  const child = fork(join(import.meta.dirname, 'callers.ts'), [String(port), caFile]);
  const send = async (command: Command): Promise<unknown> => {
    child.send(command);
    const [answer] = (await once(child, 'message')) as [{ readonly result?: unknown; readonly error?: string }];
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.result;
  };
  return {
    send,
    read: async (snapshot) => {
      const result = (await send({ kind: 'read', snapshot })) as ReadResult;
      if (result.code !== 'OK') throw new Error(`the stream ended with ${result.code}: ${result.detail}`);
      return result;
    },
    [Symbol.asyncDispose]: () => ended(child),
  };
}

/** The highest RSS while the work runs. */
export async function peakDuring<T>(pid: number, work: () => Promise<T>): Promise<{ result: T; rssMib: number }> {
  let rssMib = 0;
  const sample = (): void => {
    rssMib = Math.max(rssMib, memoryOf(pid).rssMib);
  };
  const sampling = setInterval(sample, sampleEveryMs);
  try {
    const result = await work();
    sample();
    return { result, rssMib };
  } finally {
    clearInterval(sampling);
  }
}
