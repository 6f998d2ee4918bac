// SPDX-License-Identifier: Apache-2.0
/** The real port, in processes of their own, and what it asks of the process in which it is. */
import { spawn } from 'node:child_process';
import type { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { nodeProcess } from './node-process.ts';

interface Ending {
  readonly code: number | null;
  readonly log: string;
}

/** Runs a program under `runProcess`; `ready` is called once it has printed something. */
function run(program: string, ready: (pid: number) => void = () => undefined): Promise<Ending> {
  const from = (path: string): string => JSON.stringify(join(import.meta.dirname, path));
  const script = `
    import { runProcess } from ${from('run-process.ts')};
    import { nodeProcess } from ${from('node-process.ts')};
    import { systemClock } from ${from('../clock/system-clock.ts')};
    const line = (...words) => process.stderr.write(words.join(' ') + '\\n');
    const logger = { enabled: () => true, info: (_, message) => line(message), warn: line, error: (error, message) => line(message, error?.stack ?? error), with: () => logger };
    await runProcess({ process: nodeProcess(), clock: systemClock(), logger }, async ({ signal, configure }) => { ${program} });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  child.stdout.once('data', () => ready(child.pid ?? 0));
  return new Promise((resolve) => {
    child.on('close', (code) => resolve({ code, log }));
  });
}

const wait = "setInterval(() => {}, 1000); console.log('ready');";

it('given SIGTERM to a real process, then it exits with 143', async () => {
  const { code } = await run(`${wait} return new Promise(() => {});`, (pid) => process.kill(pid, 'SIGTERM'));
  expect(code).toBe(143);
});

it('given SIGINT to a real process that drains, then its program ends and the code is its own', async () => {
  const program = `configure({ onSignal: 'drain' }); ${wait} await new Promise((resolve) => signal.addEventListener('abort', resolve)); return 7;`;
  const { code, log } = await run(program, (pid) => process.kill(pid, 'SIGINT'));
  expect([code, log]).toEqual([7, 'Received SIGTERM or SIGINT signal, shutting down controller.\n']);
});

it('[runtime#177] given an unhandled rejection and an exception in a callback, then their stacks are logged and the code is 2', async () => {
  const rejected = await run("void Promise.reject(new Error('lost')); return new Promise(() => {});");
  const thrown = await run("setImmediate(() => { throw new Error('thrown'); }); return new Promise(() => {});");
  expect([rejected.code, thrown.code]).toEqual([2, 2]);
  expect(rejected.log).toMatch(/^Unhandled promise rejection Error: lost\n {4}at /);
  expect(thrown.log).toMatch(/^Uncaught exception Error: thrown\n {4}at /);
});

/** The listeners that an action adds to these events. They are taken off again. */
function addedTo(emitter: EventEmitter, events: readonly string[], act: () => void) {
  const before = new Set(events.flatMap((event) => emitter.listeners(event)));
  act();
  const added = events.flatMap((event) =>
    emitter
      .listeners(event)
      .flatMap((listener) => (before.has(listener) ? [] : [{ event, call: listener as (error?: unknown) => void }])),
  );
  for (const { event, call } of added) emitter.off(event, call);
  return added;
}

it.each(['stdout', 'stderr'] as const)('given a broken pipe at %s, then it is ignored', (name) => {
  const listeners = addedTo(process[name], ['error'], nodeProcess);
  expect(listeners.map(({ call }) => call(new Error('EPIPE')))).toEqual([undefined]);
});

it('given signals, crashes and an exit, then each is the one of this process', () => {
  const port = nodeProcess();
  const seen: unknown[] = [];
  const events = ['SIGTERM', 'SIGINT', 'uncaughtException', 'unhandledRejection'];
  const listeners = addedTo(process, events, () => {
    port.onSignal('SIGTERM', () => seen.push('SIGTERM'));
    port.onSignal('SIGINT', () => seen.push('SIGINT'));
    port.onCrash((error, origin) => seen.push({ error, origin }));
  });
  for (const { event, call } of listeners) call(`the error of ${event}`);
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => seen.push(`exit ${code}`) as never);
  port.exit(7);
  exit.mockRestore();
  expect(seen).toEqual([
    'SIGTERM',
    'SIGINT',
    { error: 'the error of uncaughtException', origin: 'uncaughtException' },
    { error: 'the error of unhandledRejection', origin: 'unhandledRejection' },
    'exit 7',
  ]);
});
