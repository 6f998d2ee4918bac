// SPDX-License-Identifier: Apache-2.0
/**
 * Writes lines to a file descriptor without ever making the process wait: one write is in flight, further lines are gathered up
 * to a bound, and beyond that they are dropped and counted. (Node.js writes to pipes synchronously: with a blocked reader
 * `process.stderr` would stop the whole process.) At the end of the process `flushSync` writes the remaining lines and waits
 * for the reader for a bounded time.
 */
export interface LineWriter {
  write(line: string): void;
  /** Lines dropped since the start because the reader was too slow, or gone. */
  readonly dropped: number;
  /** Resolves when all earlier lines have been written or have failed. With a blocked reader it never resolves. */
  readonly flush: () => Promise<void>;
  readonly flushSync: () => void;
}

/** The part of `node:fs` that is needed: asynchronous and synchronous writes to one descriptor. */
export interface Sink {
  /** If a later attempt may succeed, it reports 0 written bytes and no error. */
  readonly write: (chunk: Uint8Array, done: (error: Error | null, written: number) => void) => unknown;
  /** Bytes written, at least 0 when the reader is not ready. */
  readonly writeSync: (chunk: Uint8Array) => number;
}

export interface LineWriterOptions {
  readonly maxBufferBytes?: number;
  /** Lines that come until it resolves are written together. Default: each is written at once. */
  readonly gather?: () => Promise<void>;
  /** The line that reports dropped lines, in the format of the others. */
  readonly dropNotice?: (count: number) => string;
}

const defaultBufferBytes = 1024 * 1024;

export function createLineWriter(sink: Sink, options: LineWriterOptions = {}): LineWriter {
  const { maxBufferBytes = defaultBufferBytes, gather } = options;
  let waiting: string[] = [];
  let waitingBytes = 0;
  let inFlight: Uint8Array | undefined;
  let gathering = false;
  let dropped = 0;
  let reported = 0;
  let onIdle: (() => void)[] = [];

  const next = (): void => {
    if (inFlight !== undefined || gathering) return;
    if (waiting.length === 0) {
      for (const resolve of onIdle) resolve();
      onIdle = [];
    } else if (gather === undefined) begin();
    else void gathered(gather);
  };
  const gathered = async (whole: () => Promise<void>): Promise<void> => {
    gathering = true;
    await whole().catch(() => undefined);
    gathering = false;
    // The lines may have been flushed synchronously meanwhile.
    if (waiting.length > 0) begin();
    else next();
  };
  const begin = (): void => {
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
    void sink.write(chunk, (error, written) => {
      if (inFlight !== chunk) return; // flushed synchronously meanwhile
      const rest = chunk.subarray(written);
      // A broken descriptor loses lines, never the process.
      if (error !== null) dropped += linesIn(rest);
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
        onIdle.push(resolve);
        next();
      }),
    flushSync: () => {
      // If the process ends during a write, its lines may be written twice, but they are never lost.
      let rest: Uint8Array = Buffer.concat([inFlight ?? Buffer.alloc(0), Buffer.from(waiting.join(''))]);
      inFlight = undefined;
      waiting = [];
      waitingBytes = 0;
      for (let attempts = 0; rest.length > 0 && attempts < 100; attempts++) rest = rest.subarray(sink.writeSync(rest));
    },
  };
}

function linesIn(chunk: Uint8Array): number {
  let lines = 0;
  for (const byte of chunk) if (byte === 0x0a) lines += 1;
  return lines;
}
