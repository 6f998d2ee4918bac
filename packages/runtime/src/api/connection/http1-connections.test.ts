// SPDX-License-Identifier: Apache-2.0
/** What a pool does with its sockets, which are in memory. */
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { expect, it } from 'vitest';
import { settle } from '../../../testing/index.ts';
import { bodyText, rejectionOf } from '../../../testing/transport-fixture.ts';
import type { Connection } from './connection.ts';
import { createHttp1Connections } from './http1-connections.ts';

const never = new AbortController().signal;
const get = ({ send }: Connection, signal = never) => send({ method: 'GET', path: '/x', headers: {}, signal });

const setUp = () => {
  const server = createServer((_request, response) => response.end('served'));
  const sockets: Socket[] = [];
  const opened: PromiseWithResolvers<void> = Promise.withResolvers();
  let ends = 0;
  const pool = createHttp1Connections({
    first: undefined,
    dial: async () => {
      await opened.promise;
      const [near, far] = duplexPair();
      server.emit('connection', far);
      // What only a TCP socket has, and a connection that is kept needs.
      const more = {
        setTimeout: () => undefined,
        setKeepAlive: () => undefined,
        ref: () => undefined,
        unref: () => undefined,
      };
      const socket = Object.assign(near, more) as never as Socket;
      sockets.push(socket);
      return socket;
    },
    authority: 'api',
    prefix: '',
    headers: {},
    closed: () => (ends += 1),
  });
  return { pool, sockets, open: opened.resolve, ends: () => ends };
};

it('given a connection that is kept for the next request, when the pool retires, then it is closed', async () => {
  const { pool, sockets, open, ends } = setUp();
  open();
  expect(await bodyText(await get(pool))).toBe('served');
  expect([pool.availability(), sockets[0]?.destroyed]).toEqual(['open', false]);
  pool.retire();
  await settle();
  expect([pool.availability(), sockets[0]?.destroyed, ends()]).toEqual(['closed', true, 1]);
});

it('given a connection that is being opened, when the pool is destroyed, then it is closed as soon as it is open', async () => {
  const { pool, sockets, open, ends } = setUp();
  const answer = rejectionOf(get(pool));
  await settle();
  await pool.destroy(new Error('the pool is gone'));
  open();
  expect(await answer).toMatchObject({ message: 'the pool is gone' });
  await settle();
  expect([sockets.map(({ destroyed }) => destroyed), ends()]).toEqual([[true], 1]);
});

it('given a signal that has aborted, then nothing is opened', async () => {
  const { pool, sockets, open } = setUp();
  open();
  expect(await rejectionOf(get(pool, AbortSignal.abort('stop')))).toMatchObject({ failure: 'aborted', cause: 'stop' });
  await settle();
  expect(sockets).toEqual([]);
});
