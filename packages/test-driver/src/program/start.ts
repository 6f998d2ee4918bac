// SPDX-License-Identifier: Apache-2.0
/** The program as a child process of a test: its files, and how it is started, stopped and killed. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { controlClient } from '../control/client.ts';
import type { DriverControl } from '../control/control.ts';
import type { Settings } from '../core/settings.ts';
import { formatSettings } from './settings-file.ts';

export interface TestDriverOptions {
  /** Everything goes below it, so a second start in the same folder continues where the first ended. Keep the path short: a socket path has at most 107 bytes. */
  readonly folder: string;
  readonly settings?: Partial<Settings>;
  /** Default: node-1. */
  readonly nodeId?: string;
  /** Default: `<folder>/csi.sock`. */
  readonly socket?: string;
  /** CSI sockets of further nodes, by node id. */
  readonly nodeSockets?: Readonly<Record<string, string>>;
  /** Further command-line flags. */
  readonly flags?: readonly string[];
}

export interface TestDriverCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly socket: string;
  readonly faultSocket: string;
  readonly journalPath: string;
  readonly stateFolder: string;
  /** The control interface; it answers once the program listens. */
  readonly control: DriverControl;
}

/** The command, for callers that start the process themselves. Writes the settings file; the program prints `listening on ...` to stderr. */
export async function testDriverCommand(options: TestDriverOptions): Promise<TestDriverCommand> {
  const { folder, settings = {}, nodeId = 'node-1', nodeSockets = {}, flags = [] } = options;
  const socket = options.socket ?? join(folder, 'csi.sock');
  const faultSocket = join(folder, 'fault.sock');
  const journalPath = join(folder, 'journal.jsonl');
  const stateFolder = join(folder, 'state');
  const settingsFile = join(folder, 'settings.json');
  await mkdir(folder, { recursive: true });
  await writeFile(settingsFile, formatSettings(settings));
  return {
    program: process.execPath,
    args: [
      fileURLToPath(new URL('../main.ts', import.meta.url)),
      `--endpoint=unix://${socket}`,
      `--nodeid=${nodeId}`,
      ...Object.entries(nodeSockets).map(([id, path]) => `--node-endpoint=${id}=${path}`),
      `--statedir=${stateFolder}`,
      `--journal=${journalPath}`,
      `--fault-socket=${faultSocket}`,
      `--settings=${settingsFile}`,
      ...flags,
    ],
    socket,
    faultSocket,
    journalPath,
    stateFolder,
    control: controlClient(faultSocket),
  };
}

export interface TestDriver extends TestDriverCommand, AsyncDisposable {
  readonly pid: number;
  /** Exit code, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves when it is gone, after answering the calls in progress. */
  stop(): Promise<void>;
  /** SIGSTOP: calls are not answered, and not lost, until `thaw`. */
  freeze(): void;
  thaw(): void;
}

/** Resolves when the program listens. Needs the Node.js that runs the sources (24 or later). */
export async function startTestDriver(options: TestDriverOptions): Promise<TestDriver> {
  const command = await testDriverCommand(options);
  const child = spawn(command.program, command.args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  await untilListening(child);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  const stop = async (): Promise<void> => await end('SIGTERM');
  return {
    ...command,
    pid: child.pid!,
    exited,
    kill: async () => await end('SIGKILL'),
    stop,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    [Symbol.asyncDispose]: stop,
  };
}

async function untilListening(child: ChildProcess): Promise<void> {
  let said = '';
  child.stderr!.setEncoding('utf8');
  await new Promise<void>((resolve, reject) => {
    child.stderr!.on('data', (chunk: string) => {
      said += chunk;
      if (said.includes('listening on ')) resolve();
    });
    child.once('error', reject);
    child.once('close', () => reject(new Error(`the driver did not start: ${said}`)));
  });
}
