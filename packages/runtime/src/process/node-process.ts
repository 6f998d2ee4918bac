// SPDX-License-Identifier: Apache-2.0
import process from 'node:process';
import type { ProcessPort } from './run-process.ts';
import type { Clock } from '../clock/clock.ts';

/**
 * The process in which this code runs. After this call a broken pipe at stdout or stderr is ignored, because logging must not
 * end the process.
 */
export function nodeProcess(): ProcessPort {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  return {
    onSignal: (name, listener) => void process.on(name, listener),
    onCrash: (listener) => {
      process.on('uncaughtException', (error) => listener(error, 'uncaughtException'));
      process.on('unhandledRejection', (reason) => listener(reason, 'unhandledRejection'));
    },
    exit: (code) => process.exit(code),
  };
}

/** Keeps the process alive until disposed. Sockets and timers of the runtime do not, so a program that only waits would end. */
export function keepAlive(clock: Clock): Disposable {
  const over = new AbortController();
  clock.sleep(Infinity, over.signal).catch(() => undefined);
  return { [Symbol.dispose]: () => over.abort() };
}
