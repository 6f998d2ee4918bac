// SPDX-License-Identifier: Apache-2.0
/**
 * Writes lines to a file descriptor without ever making the process wait: one write is in flight, what comes meanwhile is
 * gathered up to a bound, and beyond that lines are dropped and counted. (Node.js writes to pipes synchronously: with a
 * blocked reader `process.stderr` would stop the whole process.)
 * Before the process ends, `flush` tells when everything is written; how long to wait for it is the caller's business.
 */
export interface LineWriter {
  write(line: string): void;
  /** Lines dropped since the start because the reader was too slow. */
  readonly dropped: number;
  /** Resolves when all that was written so far, and what comes meanwhile, has left the process. */
  flush(): Promise<void>;
}

/** Asynchronous writes to one descriptor, as `node:fs` has them. */
export interface Sink {
  write(chunk: Uint8Array, done: (error: Error | null, written: number) => void): void;
}

export interface LineWriterOptions {
  readonly maxBufferBytes?: number;
  /** The line that tells of dropped lines, in the format of the others. */
  readonly dropNotice?: (count: number) => string;
}

export const defaultBufferBytes: number = 1024 * 1024;

export function createLineWriter(sink: Sink, options: LineWriterOptions = {}): LineWriter {
  const maxBufferBytes = options.maxBufferBytes ?? defaultBufferBytes;
  let waiting: string[] = [];
  let waitingBytes = 0;
  let inFlight: Uint8Array | undefined;
  let dropped = 0;
  let reported = 0;
  const idle: (() => void)[] = [];

  const next = (): void => {
    if (inFlight !== undefined) return;
    if (waiting.length === 0) {
      for (const tell of idle.splice(0)) tell();
      return;
    }
    if (dropped > reported) {
      waiting.push(options.dropNotice?.(dropped - reported) ?? '');
      reported = dropped;
    }
    inFlight = Buffer.from(waiting.join(''));
    waiting = [];
    waitingBytes = 0;
    send(inFlight);
  };
  const send = (chunk: Uint8Array): void => {
    sink.write(chunk, (error, written) => {
      const rest = chunk.subarray(written);
      // A broken or full descriptor loses lines, never the process.
      if (error !== null || rest.length === 0) {
        inFlight = undefined;
        next();
        return;
      }
      inFlight = rest;
      send(rest);
    });
  };

  return {
    write(line) {
      if (waitingBytes + line.length > maxBufferBytes) {
        dropped += 1;
        return;
      }
      waiting.push(line);
      waitingBytes += line.length;
      next();
    },
    get dropped() {
      return dropped;
    },
    flush: () =>
      new Promise((resolve) => {
        idle.push(resolve);
        next();
      }),
  };
}
