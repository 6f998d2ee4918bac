// SPDX-License-Identifier: Apache-2.0
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { settle, until } from '../../testing/index.ts';
import { systemClock } from '../clock/system-clock.ts';
import { pacedSocket } from './paced-socket.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** `sizes`: of the pieces that are handed over once `read` is called. */
async function aPair(clock: Parameters<typeof pacedSocket>[0] = systemClock()) {
  const accepted = Promise.withResolvers<Socket>();
  const server = createServer({ allowHalfOpen: true }, accepted.resolve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  const socket = await accepted.promise;
  const paced = pacedSocket(clock, socket);
  const { stream } = paced;
  ends.push(
    () => client.destroy(),
    () => stream.destroy(),
    () => new Promise((resolve) => server.close(resolve)),
  );
  const sizes: number[] = [];
  const read = (onPiece: () => void = () => undefined): void => {
    stream.on('data', (piece: Buffer) => {
      sizes.push(piece.length);
      onPiece();
    });
  };
  const state = { isEnded: false };
  stream.on('end', () => (state.isEnded = true));
  return { ...paced, client, socket, sizes, read, state };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await settle();
}

it('[runtime#210] given a client that sends much at once, then it is read in pieces of 256 bytes, none before one is wanted and none while closed, and a body of a known size in one', async () => {
  const { client, socket, sizes, read, open, close, state } = await aPair();
  client.end(Buffer.alloc(3_000));
  await until(() => socket.readableLength === 3_000);
  await turns();
  expect(socket.readableLength).toBe(3_000);
  read(() => {
    if (sizes.length === 3) close();
  });
  await until(() => sizes.length === 3);
  await turns();
  expect(socket.readableLength).toBe(3_000 - 3 * 256);
  open(1_000);
  await until(() => state.isEnded);
  expect(sizes).toEqual([256, 256, 256, 1_000, 256, 256, 256, 256, 208]);
});

it('[runtime#210] given a body that arrives in two parts, then each is read as a whole', async () => {
  const { client, socket, sizes, read, open, close } = await aPair();
  close();
  read();
  client.write(Buffer.alloc(300));
  await until(() => socket.readableLength === 300);
  open(1_000);
  await until(() => sizes.length === 1);
  client.write(Buffer.alloc(700));
  await until(() => sizes.length > 1);
  expect(sizes).toEqual([300, 700]);
});

it('[runtime#210] given a body whose size becomes known while its head is handed over, then it is read in one piece, and not before the head has been taken', async () => {
  const { client, socket, sizes, read, open } = await aPair();
  client.write(Buffer.alloc(1_256));
  await until(() => socket.readableLength === 1_256);
  let depth = 0;
  const depths: number[] = [];
  read(() => {
    depth += 1;
    depths.push(depth);
    if (sizes.length === 1) open(1_000);
    depth -= 1;
  });
  await until(() => socket.readableLength === 0);
  expect([sizes, depths]).toEqual([
    [256, 1_000],
    [1, 1],
  ]);
});

it('[runtime#210] given a closed gate, then one byte is not read, but the end of a client of which nothing is unread is reported', async () => {
  const { client, socket, sizes, read, open, close, state } = await aPair();
  close();
  read(close);
  client.end('a');
  await until(() => socket.readableLength === 1);
  await turns();
  expect([sizes, state.isEnded]).toEqual([[], false]);
  open();
  await until(() => state.isEnded);
  expect(sizes).toEqual([1]);
});

it('[runtime#210] given an end of the stream, then the client gets what was written, and the connection ends although the client goes on', async () => {
  const { client, socket, stream } = await aPair();
  const received: string[] = [];
  client.setEncoding('latin1').on('data', (text: string) => received.push(text));
  const finished = once(stream, 'finish');
  stream.end('bye');
  await finished;
  await until(() => socket.closed && stream.closed);
  await until(() => client.readableEnded);
  expect(received).toEqual(['bye']);
});

it('[runtime#210] given a client that breaks its connection off, then the stream is closed, and nothing is thrown', async () => {
  const { client, stream, read } = await aPair();
  read();
  client.resetAndDestroy();
  await until(() => stream.closed);
});

it('[runtime#210] given an event loop that cannot be waited for, then the connection is closed', async () => {
  const error = new Error('no turn');
  const { socket, stream, read } = await aPair({ yieldToLoop: () => Promise.reject(error) });
  read();
  await until(() => socket.closed && stream.closed);
  expect(stream.errored).toBe(error);
});
