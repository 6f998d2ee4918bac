// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { createLineWriter, type Sink } from './line-writer.ts';

describe('line writer', () => {
  function blockedSink(): { sink: Sink; written: string[]; release: () => void } {
    const written: string[] = [];
    let release = (): void => undefined;
    const sink: Sink = {
      write: (chunk, finished) => {
        release = () => {
          written.push(Buffer.from(chunk).toString());
          finished(null, chunk.length);
        };
      },
      writeSync: (chunk) => {
        written.push(Buffer.from(chunk).toString());
        return chunk.length;
      },
    };
    return { sink, written, release: () => release() };
  }

  it('[runtime#176] given a reader that does not read, then lines beyond the bound are dropped and counted, and writing goes on later', () => {
    const { sink, written, release } = blockedSink();
    const writer = createLineWriter(sink, { maxBufferBytes: 10, dropNotice: (count) => `dropped ${count}\n` });
    writer.write('first\n');
    for (let n = 0; n < 5; n++) writer.write('12345\n');
    expect(writer.dropped).toBe(4);
    release();
    release();
    expect(written).toEqual(['first\n', '12345\ndropped 4\n']);
  });

  it('given the end of the process, then the waiting lines are written synchronously', () => {
    const { sink, written } = blockedSink();
    const writer = createLineWriter(sink);
    writer.write('a\n');
    writer.write('b\n');
    writer.flushSync();
    expect(written).toEqual(['a\nb\n']);
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
    expect(written.join('')).toBe('abcde\n');
  });
});
