// SPDX-License-Identifier: Apache-2.0
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Keeps what this process writes to file descriptors, such as its log, until it is disposed. */
export function recordedStderr(): Disposable & { readonly text: () => string } {
  const { writeSync } = fs;
  let text = '';
  const record = (_fd: number, chunk: Uint8Array): number => {
    text += Buffer.from(chunk).toString();
    return chunk.length;
  };
  const use = (write: typeof writeSync): void => {
    fs.writeSync = write;
    syncBuiltinESMExports();
  };
  use(record as typeof writeSync);
  return { text: () => text, [Symbol.dispose]: () => use(writeSync) };
}
