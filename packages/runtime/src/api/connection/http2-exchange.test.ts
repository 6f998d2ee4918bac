// SPDX-License-Identifier: Apache-2.0
/** What an exchange reports to its connection when no stream can be had. */
import type { ClientHttp2Session } from 'node:http2';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { rejectionOf } from '../../../testing/transport-fixture.ts';
import { exchange } from './http2-exchange.ts';

const setUp = ({ isClosed = false }) => {
  const reported: string[] = [];
  const stream = Object.assign(new PassThrough(), { id: undefined, rstCode: 0, close: () => undefined });
  const request = (): PassThrough => {
    reported.push('request');
    return stream;
  };
  const report = (what: string) => () => void reported.push(what);
  const host = {
    session: { request } as never as ClientHttp2Session,
    isClosed: () => isClosed,
    mayBeProcessed: () => false,
    begun: report('begun'),
    ended: report('ended'),
    heard: report('heard'),
    unanswered: report('unanswered'),
    exhausted: report('exhausted'),
    nowMs: () => 0,
  };
  const send = (signal: AbortSignal) =>
    rejectionOf(exchange(host, {}, { method: 'GET', path: '/', headers: {}, signal }));
  return { stream, reported, send };
};

it('given a connection that was closed meanwhile, then the request may be sent again, and no stream is opened', async () => {
  const { send, reported } = setUp({ isClosed: true });
  const message = 'the connection was closed before the request was sent';
  expect(await send(new AbortController().signal)).toMatchObject({ failure: 'unprocessed', message });
  expect(reported).toEqual([]);
});

it('given a stream that fails before it has an id, then the connection has none left, unless the caller has cancelled', async () => {
  const failed = setUp({});
  failed.stream.destroy(new Error('no ids'));
  expect(await failed.send(new AbortController().signal)).toMatchObject({ failure: 'unprocessed', message: 'no ids' });
  const cancelled = setUp({});
  const stop = new AbortController();
  const answer = cancelled.send(stop.signal);
  stop.abort('stop');
  expect(await answer).toMatchObject({ failure: 'aborted', cause: 'stop' });
  expect([failed.reported, cancelled.reported].map((reported) => new Set(reported))).toEqual([
    new Set(['request', 'begun', 'exhausted', 'ended']),
    new Set(['request', 'begun', 'ended']),
  ]);
});
