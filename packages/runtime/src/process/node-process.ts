// SPDX-License-Identifier: Apache-2.0
import process from 'node:process';
import type { ProcessPort } from './run-process.ts';

/**
 * The process this code runs in. It lives until `exit` is called: timers and idle connections do not keep Node.js alive, but a
 * sidecar that waits for its driver must not end. From here on a broken pipe behind stdout or stderr is ignored: logging must not end it.
 */
export function nodeProcess(): ProcessPort {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  setInterval(() => undefined, 2 ** 31 - 1);
  return {
    onSignal: (name, listener) => void process.on(name, listener),
    onCrash: (listener) => {
      process.on('uncaughtException', (error) => listener(error, 'uncaughtException'));
      process.on('unhandledRejection', (reason) => listener(reason, 'unhandledRejection'));
    },
    exit: (code) => process.exit(code),
  };
}
