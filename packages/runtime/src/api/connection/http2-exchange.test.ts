// SPDX-License-Identifier: Apache-2.0
/** An exchange whose stream is played: what it does to the stream, what it reports to its connection, and what the caller gets. */
import { getEventListeners } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { settle } from '../../../testing/index.ts';
import { bodyText, rejectionOf } from '../../../testing/transport-fixture.ts';
import { DeadlineError } from '../../clock/deadline.ts';
import type { TransportRequest } from '../transport.ts';
import { exchange } from './http2-exchange.ts';

interface Wanted extends Partial<Pick<TransportRequest, 'body' | 'signal'>> {
  readonly isClosed?: boolean;
  /** Undefined: the connection has no stream ids left. */
  readonly id?: number | undefined;
  readonly mayBeProcessed?: boolean;
}

const setUp = ({ isClosed = false, mayBeProcessed = true, signal, body, ...wanted }: Wanted) => {
  const stop = new AbortController();
  const log: unknown[] = [];
  const note = (what: string) => () => void log.push(what);
  const stream = Object.assign(
    new Readable({
      read: () => undefined,
      destroy: (error, done) => {
        log.push('destroyed');
        done(error);
      },
    }),
    {
      id: 'id' in wanted ? wanted.id : 1,
      rstCode: 0,
      close: (code: number) => void log.push(`close ${code}`),
      end: (bytes: unknown) => void log.push(`end ${String(bytes)}`),
    },
  );
  const host = {
    session: {
      request: (headers: object, options: object) => {
        log.push(['request', headers, options]);
        return stream;
      },
    } as never as ClientHttp2Session,
    isClosed: () => isClosed,
    mayBeProcessed: () => mayBeProcessed,
    begun: note('begun'),
    ended: note('ended'),
    heard: note('heard'),
    unanswered: (sentMs: number) => void log.push(`unanswered since ${sentMs}`),
    exhausted: note('exhausted'),
    nowMs: () => 5,
  };
  const request = {
    method: 'GET',
    path: '/',
    headers: {},
    signal: signal ?? stop.signal,
    ...(body && { body }),
  } as const;
  const answer = exchange(host, { ':path': '/' }, request);
  answer.catch(() => undefined);
  /** What has happened since the last look. */
  const since = async (): Promise<readonly unknown[]> => {
    await settle();
    return log.splice(0);
  };
  const respond = () => void stream.emit('response', { ':status': 200, 'set-cookie': ['a', 'b'] });
  return { stream, stop, answer, since, respond, listeners: () => getEventListeners(stop.signal, 'abort').length };
};

/** The request has been sent, and its answer has begun. */
const answered = async () => {
  const scene = setUp({});
  scene.respond();
  await scene.since();
  return { ...scene, body: (await scene.answer).body };
};

const begun = [['request', { ':path': '/' }, { endStream: true }], 'begun'];
const eof = { failure: 'eof', message: 'unexpected EOF' };

describe('a request', () => {
  it('given a connection that was closed meanwhile, then the request may be sent again, and no stream is opened', async () => {
    const { answer, since } = setUp({ isClosed: true });
    const message = 'the connection was closed before the request was sent';
    expect(await rejectionOf(answer)).toMatchObject({ failure: 'unprocessed', message });
    expect(await since()).toEqual([]);
  });

  it('given a signal that has aborted, then no stream is opened', async () => {
    const { answer, since } = setUp({ signal: AbortSignal.abort('stop') });
    expect(await rejectionOf(answer)).toMatchObject({ failure: 'aborted', cause: 'stop' });
    expect(await since()).toEqual([]);
  });

  it('given a request without a body, and one with a body, then the stream ends with the headers, or with the body', async () => {
    expect(await setUp({}).since()).toEqual(begun);
    const [withBody] = [setUp({ body: Buffer.from('{}') })];
    expect(await withBody.since()).toEqual([['request', { ':path': '/' }, { endStream: false }], 'begun', 'end {}']);
  });
});

describe('a stream that ends before its answer', () => {
  it.each([
    ['fails', { mayBeProcessed: true }, { failure: 'reset', message: 'broken', cause: { message: 'broken' } }, []],
    ['fails unseen by the peer', { mayBeProcessed: false }, { failure: 'unprocessed', message: 'broken' }, []],
    [
      'fails before it has an id',
      { mayBeProcessed: false, id: undefined },
      { failure: 'unprocessed', message: 'broken' },
      ['exhausted'],
    ],
  ])('given a stream that %s, then so does the request, and its end is reported', async (...row) => {
    const [, wanted, error, more] = row;
    const { stream, answer, since, listeners } = setUp(wanted);
    stream.destroy(new Error('broken'));
    expect(await rejectionOf(answer)).toMatchObject(error);
    // The error and the end of a stream without an id both report 'exhausted'.
    const reported = await since();
    expect(reported.filter((what, index) => reported.indexOf(what) === index)).toEqual([
      ...begun,
      'destroyed',
      ...more,
      'ended',
    ]);
    expect(listeners()).toBe(0);
  });

  it('given a stream that is cut off without an error, then the request fails with EOF', async () => {
    const { stream, answer, since, listeners } = setUp({});
    stream.destroy();
    expect(await rejectionOf(answer)).toMatchObject(eof);
    expect([await since(), listeners()]).toEqual([[...begun, 'destroyed', 'ended'], 0]);
  });

  it.each([
    ['the caller cancels', 1, 'stop', 'aborted', []],
    ['the caller cancels before the stream has an id', undefined, 'stop', 'aborted', []],
    ['its deadline passes', 1, new DeadlineError(1000), 'timeout', ['unanswered since 5']],
  ])('given a stream that waits, when %s, then it is cancelled, and nothing listens to the signal', async (...row) => {
    const [, id, reason, failure, more] = row;
    const { stop, answer, since, listeners } = setUp({ id });
    stop.abort(reason);
    expect(listeners()).toBe(0);
    expect(await rejectionOf(answer)).toMatchObject({ failure, cause: reason });
    expect(await since()).toEqual([...begun, ...more, 'close 8', 'destroyed', 'ended']);
  });
});

describe('an answer', () => {
  it('given an answer that is whole, then each part of it is reported as a sign of life, and the end once', async () => {
    const { stream, answer, since, respond, listeners } = setUp({});
    await since();
    respond();
    const { status, headers, body } = await answer;
    expect([status, headers['set-cookie'], await since()]).toEqual([200, 'a, b', ['heard']]);
    stream.push('whole');
    expect(await since()).toEqual(['heard']);
    stream.push(null);
    expect(await bodyText({ status, headers, body })).toBe('whole');
    expect([await since(), listeners()]).toEqual([['destroyed', 'ended'], 0]);
  });

  it('given a body that is ended early, then its stream is cancelled, and nothing listens to its signal', async () => {
    const { body, since, listeners } = await answered();
    await body[Symbol.asyncIterator]().return?.();
    expect([await since(), listeners()]).toEqual([['close 8'], 0]);
  });

  it('given a body whose deadline passes, then it fails, and the connection is not in doubt', async () => {
    const { body, stop, since, listeners } = await answered();
    stop.abort(new DeadlineError(1000));
    expect(listeners()).toBe(0);
    expect(await rejectionOf(body[Symbol.asyncIterator]().next())).toMatchObject({ failure: 'timeout' });
    expect(await since()).toEqual(['close 8', 'destroyed', 'ended']);
  });

  it('given a stream that is cut off and looks like one that has ended, then its body is not complete', async () => {
    const { body, stream } = await answered();
    stream.rstCode = 8;
    stream.push(null);
    expect(await rejectionOf(body[Symbol.asyncIterator]().next())).toMatchObject(eof);
  });
});
