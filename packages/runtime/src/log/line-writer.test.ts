// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { settle } from '../../testing/index.ts';
import { createLineWriter, type LineWriterOptions, type Sink } from './line-writer.ts';

describe('line writer', () => {
  interface BlockedSink {
    readonly sink: Sink;
    /** Synchronously, or released. */
    readonly written: string[];
    /** Ends the latest write, by default with all of its bytes. */
    readonly release: (error?: Error | null, written?: number) => void;
    /** The ends of all writes. */
    readonly ends: ((error: Error | null, written: number) => void)[];
  }
  function blockedSink(): BlockedSink {
    const written: string[] = [];
    const ends: BlockedSink['ends'] = [];
    let latest: Uint8Array = Buffer.alloc(0);
    const sink: Sink = {
      write: (chunk, finished) => {
        latest = chunk;
        ends.push(finished);
      },
      writeSync: (chunk) => {
        written.push(Buffer.from(chunk).toString());
        return chunk.length;
      },
    };
    const release: BlockedSink['release'] = (error = null, bytes = latest.length) => {
      written.push(Buffer.from(latest.subarray(0, bytes)).toString());
      ends.at(-1)?.(error, bytes);
    };
    return { sink, written, release, ends };
  }
  const mebibyte = 1024 * 1024;

  it.each<[string, LineWriterOptions]>([
    ['lines that are not gathered', {}],
    ['lines whose gathering fails', { gather: () => Promise.reject(new Error('stopped')) }],
  ])('given %s, then a single one is written', async (_, options) => {
    const { sink, written, release } = blockedSink();
    createLineWriter(sink, options).write('a\n');
    await settle();
    release();
    expect(written).toEqual(['a\n']);
  });

  it('[runtime#176] given a reader that does not read, then lines beyond the bound are dropped and counted, and writing goes on later', () => {
    const { sink, written, release } = blockedSink();
    const writer = createLineWriter(sink, { maxBufferBytes: 10, dropNotice: (count) => `dropped ${count}\n` });
    writer.write('first\n');
    for (let n = 0; n < 5; n++) writer.write('12345\n');
    expect(writer.dropped).toBe(4);
    release();
    release();
    expect(written).toEqual(['first\n', '12345\ndropped 4\n']);
    for (let n = 0; n < 4; n++) writer.write('12345\n');
    release();
    release();
    writer.write('last\n');
    release();
    expect(written.slice(2)).toEqual(['12345\n', '12345\ndropped 2\n', 'last\n']);
  });

  it('given no bound, then it is a mebibyte, and without a notice what is dropped is not reported', () => {
    const { sink, written, release } = blockedSink();
    const writer = createLineWriter(sink);
    for (let n = 0; n < 2; n++) writer.write('x'.repeat(mebibyte));
    expect(writer.dropped).toBe(0);
    writer.write('y');
    expect(writer.dropped).toBe(1);
    release();
    release();
    writer.write('z');
    release();
    expect(written.map(({ length }) => length)).toEqual([mebibyte, mebibyte, 1]);
  });

  it('given a descriptor that breaks during a write, then its lines are counted as dropped, and later ones are tried', async () => {
    const { sink, written, release, ends } = blockedSink();
    const writer = createLineWriter(sink);
    writer.write('one\ntwo\nthree\n');
    const flushed = writer.flush();
    release(new Error('EPIPE'), 5);
    await flushed;
    expect([written, writer.dropped, ends.length]).toEqual([['one\nt'], 2, 1]);
    writer.write('four\n');
    release();
    expect([written.slice(1), writer.dropped]).toEqual([['four\n'], 2]);
  });

  it('given nothing to write, then a flush resolves at once', async () => {
    await createLineWriter(blockedSink().sink).flush();
  });

  it('given the end of the process, then the waiting lines are written synchronously', () => {
    const { sink, written, ends } = blockedSink();
    const writer = createLineWriter(sink, { maxBufferBytes: 4 });
    for (const line of ['a\n', 'b\n', 'c\n']) writer.write(line);
    writer.flushSync();
    expect(written).toEqual(['a\nb\nc\n']);
    // What comes after it is written as before: the bound is whole again, and the end of the earlier write changes nothing.
    writer.write('def\n');
    ends[0]?.(null, 0);
    writer.write('ghi\n');
    expect([ends.length, writer.dropped]).toEqual([2, 0]);
  });

  it('given a reader that takes one byte at a time at the end of the process, then all of them are written', () => {
    let written = '';
    const writeSync: Sink['writeSync'] = ([byte]) => {
      written += String.fromCharCode(byte ?? 0);
      return 1;
    };
    const writer = createLineWriter({ ...blockedSink().sink, writeSync });
    writer.write('abc\n');
    writer.flushSync();
    expect(written).toBe('abc\n');
  });

  it('given a reader that takes nothing at the end of the process, then a hundred attempts are made', () => {
    let attempts = 0;
    const writeSync: Sink['writeSync'] = ({ length }) => ((attempts += 1) < 200 ? 0 : length);
    const writer = createLineWriter({ ...blockedSink().sink, writeSync });
    writer.write('a\n');
    writer.flushSync();
    expect(attempts).toBe(100);
  });

  it('given lines that come together, then they are one write, and a flush waits for it', async () => {
    const { sink, written, release } = blockedSink();
    const turns: (() => void)[] = [];
    const writer = createLineWriter(sink, { gather: () => new Promise((resolve) => turns.push(resolve)) });
    writer.write('a\n');
    writer.write('b\n');
    const flushed = writer.flush();
    expect(turns).toHaveLength(1);
    turns[0]?.();
    await Promise.resolve();
    await Promise.resolve();
    release();
    await flushed;
    expect(written).toEqual(['a\nb\n']);
  });

  it('given the end of the process while lines are gathered, then they are written once', async () => {
    const { sink, written } = blockedSink();
    const turn = Promise.withResolvers<void>();
    const writer = createLineWriter(sink, { gather: () => turn.promise });
    writer.write('a\n');
    writer.flushSync();
    turn.resolve();
    await writer.flush();
    expect(written).toEqual(['a\n']);
  });

  it('given a partial write, then the rest follows', () => {
    const written: string[] = [];
    const writer = createLineWriter({
      write: (chunk, finished) => {
        written.push(Buffer.from(chunk.subarray(0, 2)).toString());
        finished(null, Math.min(2, chunk.length));
      },
      writeSync: (chunk) => chunk.length,
    });
    writer.write('abcde\n');
    expect([written.join(''), writer.dropped]).toEqual(['abcde\n', 0]);
  });
});
