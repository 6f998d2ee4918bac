// SPDX-License-Identifier: Apache-2.0
/**
 * One foreign process: started, watched, signalled by pid, stopped, its end recorded. Output is written directly to a file,
 * so nothing is lost when this process is slow or dies. Every child has its own process group: Ctrl-C in a terminal
 * reaches the suite only, which then stops its children in order. Whatever still runs when the suite exits is killed.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '@csi-sidecars/runtime';

export interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the process; default: this process's own. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Standard output and error are appended here. */
  readonly logFile: string;
}

export interface Exit {
  readonly code: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
  readonly ranMs: number;
}

export interface ChildProcess {
  readonly spec: ProcessSpec;
  readonly pid: number;
  /** Set as soon as the end of the process is detected. */
  readonly exit: Exit | undefined;
  /** Resolves when the process is gone; never rejects. */
  readonly exited: Promise<Exit>;
  /** Does nothing when the process is gone. */
  signal(signal: NodeJS.Signals): void;
  /** SIGTERM (to a frozen process as well), after `graceMs` SIGKILL. Resolves when the process is gone. */
  stop(graceMs?: number): Promise<Exit>;
}

const defaultGraceMs = 10_000;

const alive = new Set<number>();
process.on('exit', () => {
  for (const pid of alive) kill(pid, 'SIGKILL');
});

export async function startProcess(spec: ProcessSpec, clock: Clock): Promise<ChildProcess> {
  mkdirSync(dirname(spec.logFile), { recursive: true });
  const log = openSync(spec.logFile, 'a');
  const startedMs = clock.monotonicMs();
  const child = spawn(spec.command, spec.args, {
    env: { ...(spec.env ?? process.env) },
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Exit>();
  let exit: Exit | undefined;
  child.once('spawn', () => {
    alive.add(child.pid!);
    started.resolve();
  });
  child.once('error', (cause) => started.reject(new Error(`cannot start ${spec.name} (${spec.command})`, { cause })));
  child.once('exit', (code, signal) => {
    alive.delete(child.pid!);
    exit = { code: code ?? undefined, signal: signal ?? undefined, ranMs: clock.monotonicMs() - startedMs };
    ended.resolve(exit);
  });
  await started.promise;
  const pid = child.pid!;
  const signal = (name: NodeJS.Signals): void => {
    if (exit === undefined) kill(pid, name);
  };
  return {
    spec,
    pid,
    get exit() {
      return exit;
    },
    exited: ended.promise,
    signal,
    stop: async (graceMs = defaultGraceMs) => {
      signal('SIGTERM');
      signal('SIGCONT');
      using _ = clock.timer(graceMs, () => signal('SIGKILL'));
      return await ended.promise;
    },
  };
}

/** The end of a process's log, for messages about its death. */
export function logTail(spec: Pick<ProcessSpec, 'logFile'>, lines = 20): string {
  try {
    return readFileSync(spec.logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    return '(no log)';
  }
}

export function describeExit(exit: Exit): string {
  const how = exit.signal === undefined ? `exit code ${exit.code}` : `signal ${exit.signal}`;
  return `${how} after ${(exit.ranMs / 1000).toFixed(1)} s`;
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
