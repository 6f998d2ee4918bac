// SPDX-License-Identifier: Apache-2.0
/**
 * The real sink: file descriptor 2. In a container it is a pipe, whose writes never block: a full one is tried again after a
 * pause. Writes to a file or terminal block, as in klog.
 *
 * The main thread writes: to pass a chunk to a thread of the pool costs ten times as much as the write, and wakes the process
 * once more.
 */
import { writeSync } from 'node:fs';
import process from 'node:process';
import type { Clock } from '../clock/clock.ts';
import { createLineWriter, type LineWriter, type Sink } from './line-writer.ts';

const fd = 2;
const pauseMs = 10;
/** Never notified: waiting on it is a synchronous pause for a reader that is not ready. */
const pause = new Int32Array(new SharedArrayBuffer(4));

/** Lines of one turn of the event loop are written together. */
export function openStderr(
  clock: Pick<Clock, 'sleep' | 'yieldToLoop'>,
  sink: Sink = stderrSink(clock),
): (dropNotice: (count: number) => string) => LineWriter {
  return (dropNotice) => createLineWriter(sink, { dropNotice, gather: () => clock.yieldToLoop() });
}

export function stderrSink(clock: Pick<Clock, 'sleep'>): Sink {
  // Node.js makes a pipe non-blocking when its stream is opened. Its errors are ignored: there is no other place to report them.
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
      if (error.code !== 'EAGAIN') return chunk.length; // the reader is gone
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
