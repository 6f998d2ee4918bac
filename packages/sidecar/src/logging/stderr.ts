// SPDX-License-Identifier: Apache-2.0
/**
 * The real sink: file descriptor 2, never blocking. A blocked write would hold a thread of the pool, and the process could
 * not exit before it returns; so the descriptor is non-blocking, and a full pipe is tried again after a pause.
 */
import { write, writeSync } from 'node:fs';
import process from 'node:process';
import { promisify } from 'node:util';
import type { Clock } from '@csi-sidecars/runtime';
import type { Sink } from './line-writer.ts';

const writeChunk = promisify(write);
const fd = 2;
const pauseMs = 10;
/** Never notified: waiting on it is a synchronous pause for a reader that is not ready. */
const pause = new Int32Array(new SharedArrayBuffer(4));

export function stderrSink(clock: Pick<Clock, 'sleep'>): Sink {
  // Node.js makes a pipe non-blocking when its stream is opened. Its errors concern nobody.
  process.stderr.on('error', () => undefined);
  const attempt = async (chunk: Uint8Array): Promise<{ readonly error: Error | null; readonly written: number }> => {
    try {
      return { error: null, written: (await writeChunk(fd, chunk)).bytesWritten };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return { error: error as Error, written: 0 };
      await clock.sleep(pauseMs);
      return { error: null, written: 0 };
    }
  };
  return {
    write: async (chunk, done) => {
      const { error, written } = await attempt(chunk);
      done(error, written);
    },
    writeSync: (chunk) => {
      try {
        return writeSync(fd, chunk);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return chunk.length; // nobody reads any more
        Atomics.wait(pause, 0, 0, pauseMs);
        return 0;
      }
    },
  };
}
