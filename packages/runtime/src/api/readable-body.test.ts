// SPDX-License-Identifier: Apache-2.0
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { settle } from '../../testing/index.ts';
import { type BodyEnd, readableBody } from './readable-body.ts';
import { TransportError } from './transport.ts';

/** A body over a stream that holds four bytes, and what it says about itself. */
function setUp(truncated?: TransportError) {
  const readable = new Readable({ highWaterMark: 4, read: () => undefined });
  const ends: BodyEnd[] = [];
  let arrivals = 0;
  const body = readableBody(readable, {
    arrived: () => (arrivals += 1),
    toError: (error) => new TransportError('reset', error.message),
    truncated: () => truncated,
    finished: (how) => ends.push(how),
  });
  const chunks = body[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    try {
      const result = await chunks.next();
      return result.done === true ? 'done' : Buffer.from(result.value).toString();
    } catch (error) {
      return (error as Error).message;
    }
  };
  const push = async (text: string): Promise<void> => {
    readable.push(Buffer.from(text));
    await settle();
  };
  return { readable, ends, next, push, end: () => chunks.return?.(), arrivals: () => arrivals };
}

describe('a stream as a body', () => {
  it('given a reader that waits, then it receives each chunk as it arrives', async () => {
    const { next, push, readable, ends, arrivals } = setUp();
    const first = next();
    await push('a');
    const second = next();
    await push('b');
    const third = next();
    readable.push(null);
    expect([await first, await second, await third, await next(), ends, arrivals()]).toEqual([
      'a',
      'b',
      'done',
      'done',
      ['complete'],
      2,
    ]);
  });

  it('given chunks that arrive before they are read, then each is returned as it came, and the stream flows on when none is left', async () => {
    const { next, push, readable } = setUp();
    await push('ab');
    await push('cd');
    expect([await next(), readable.isPaused(), await next(), readable.isPaused()]).toEqual(['ab', true, 'cd', false]);
  });

  it('given as many unread bytes as the stream may hold, then it is paused until a reader asks', async () => {
    const { next, push, readable, arrivals } = setUp();
    await push('abcd');
    expect([readable.isPaused(), arrivals()]).toEqual([true, 1]);
    await push('ef');
    expect([await next(), await next(), readable.isPaused(), arrivals()]).toEqual(['abcd', 'ef', false, 2]);
  });

  it('given a failure, then what came before it is handed out first', async () => {
    const { next, push, readable, ends } = setUp();
    await push('a');
    readable.destroy(new Error('cut'));
    await settle();
    expect([await next(), await next(), await next(), ends]).toEqual(['a', 'cut', 'done', ['failed']]);
  });

  it.each([
    ['closed', (readable: Readable) => void readable.destroy()],
    ['ended short', (readable: Readable) => void readable.push(null)],
  ])('given a stream that was %s, then it is no complete body', async (_how, cut) => {
    const { next, readable, ends } = setUp(new TransportError('eof', 'cut short'));
    const waiting = next();
    cut(readable);
    expect([await waiting, ends]).toEqual(['cut short', ['failed']]);
  });

  it('given a body that is ended before it is read, then its chunks are dropped and the stream is not paused', async () => {
    const { next, push, readable, end, ends } = setUp();
    await push('abcd');
    await end();
    await push('ef');
    expect([await next(), readable.isPaused(), readable.readableLength, ends]).toEqual(['done', false, 0, ['early']]);
  });

  it('given a reader that waits, when the body is ended, then the wait ends', async () => {
    const { next, end, ends } = setUp();
    const waiting = next();
    await end();
    expect([await waiting, ends]).toEqual(['done', ['early']]);
  });

  it('given a chunk that arrives alone before it is read, then it is handed out itself, with what the iterator promises', async () => {
    const readable = new Readable({ highWaterMark: 4, read: () => undefined });
    const body = readableBody(readable, { toError: () => new TransportError('reset', ''), finished: () => undefined });
    const chunks = body[Symbol.asyncIterator]();
    const [early, late] = [Buffer.from('a'), Buffer.from('b')];
    readable.push(early);
    await settle();
    const first = await chunks.next();
    expect([first.done, first.value === early]).toEqual([false, true]);
    const waiting = chunks.next();
    readable.push(late);
    const second = await waiting;
    expect([second.done, second.value === late]).toEqual([false, true]);
  });

  it('given chunks that were read, then the count of unread bytes is that of the others', async () => {
    const { next, push, readable } = setUp();
    await push('ab');
    expect(await next()).toBe('ab');
    await push('cd');
    expect(readable.isPaused()).toBe(false);
    expect(await next()).toBe('cd');
    for (const byte of 'efg') await push(byte);
    expect([await next(), readable.isPaused()]).toEqual(['e', false]);
    await push('h');
    expect(readable.isPaused()).toBe(false);
    await push('i');
    expect([readable.isPaused(), await next()]).toEqual([true, 'f']);
  });

  it('given a stream that closes without an end or a reason, then that is an unexpected EOF', async () => {
    const readable = new Readable({ read: () => undefined });
    const body = readableBody(readable, { toError: () => new TransportError('reset', ''), finished: () => undefined });
    const waiting = body[Symbol.asyncIterator]().next();
    readable.destroy();
    await expect(waiting).rejects.toThrow(new TransportError('eof', 'unexpected EOF'));
  });

  it('given a stream that fails and then ends short, then the first reason counts, and it is reported once', async () => {
    const { next, readable, ends } = setUp(new TransportError('eof', 'cut short'));
    const waiting = next();
    readable.emit('error', new Error('broken'));
    expect(await waiting).toBe('broken');
    readable.push(null);
    await settle();
    expect([await next(), ends]).toEqual(['done', ['failed']]);
  });

  it('given a body that is over, then a second end reports nothing, and chunks that still arrive are dropped', async () => {
    const { next, push, end, ends, readable } = setUp();
    await end();
    await end();
    await push('abcd');
    expect([await next(), ends, readable.isPaused()]).toEqual(['done', ['early'], false]);
  });
});
