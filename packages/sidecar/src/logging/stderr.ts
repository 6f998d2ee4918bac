// SPDX-License-Identifier: Apache-2.0
/** The real sink: file descriptor 2 through the thread pool. */
import { write, writeSync } from 'node:fs';
import type { Sink } from './line-writer.ts';

/** Never notified: waiting on it is a synchronous pause for a reader that is not ready. */
const pause = new Int32Array(new SharedArrayBuffer(4));

export function stderrSink(): Sink {
  return {
    write: (chunk, done) => write(2, chunk, done),
    writeSync(chunk) {
      try {
        return writeSync(2, chunk);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return chunk.length; // nobody reads any more
        Atomics.wait(pause, 0, 0, 10);
        return 0;
      }
    },
  };
}
