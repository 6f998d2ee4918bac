// SPDX-License-Identifier: Apache-2.0
import process from 'node:process';
import type { ProcessPort } from './run-process.ts';

/** The process this code runs in. From here on a broken pipe behind stdout or stderr is ignored: logging must not end it. */
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
