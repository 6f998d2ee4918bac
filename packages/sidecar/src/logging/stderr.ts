// SPDX-License-Identifier: Apache-2.0
/**
 * The real sink: file descriptor 2. A pipe, which it is in a container, never blocks: one that is full is tried again after a pause.
 * A file or terminal is waited for, as klog waits.
 *
 * Written by this thread, not by one of the pool: handing a chunk over and hearing of it costs ten times as much as the write,
 * and wakes the process up once more.
 */
import { writeSync } from 'node:fs';
import process from 'node:process';
import type { Clock } from '@csi-sidecars/runtime';
import type { Sink } from './line-writer.ts';

const fd = 2;
const pauseMs = 10;
/** Never notified: waiting on it is a synchronous pause for a reader that is not ready. */
const pause = new Int32Array(new SharedArrayBuffer(4));

export function stderrSink(clock: Pick<Clock, 'sleep'>): Sink {
  // Node.js makes a pipe non-blocking when its stream is opened. Its errors concern nobody.
  process.stderr.on('error', () => undefined);
  return {
    write: async (chunk, done) => {
      const { error, written } = attempt(chunk);
      if (error?.code !== 'EAGAIN') {
        done(error, written);
        return;
      }
      await clock.sleep(pauseMs);
      done(null, 0);
    },
    writeSync: (chunk) => {
      const { error, written } = attempt(chunk);
      if (error === null) return written;
      if (error.code !== 'EAGAIN') return chunk.length; // nobody reads any more
      Atomics.wait(pause, 0, 0, pauseMs);
      return 0;
    },
  };
}

interface Attempt {
  readonly error: NodeJS.ErrnoException | null;
  readonly written: number;
}

function attempt(chunk: Uint8Array): Attempt {
  try {
    return { error: null, written: writeSync(fd, chunk) };
  } catch (error) {
    return { error: error as NodeJS.ErrnoException, written: 0 };
  }
}
