// SPDX-License-Identifier: Apache-2.0
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { until } from '../../testing/index.ts';
import { systemClock } from '../clock/system-clock.ts';
import { pacedSocket } from './paced-socket.ts';

it('[runtime#210] given a client that sends much at once, then it is read in pieces of 256 bytes, none while closed, and a body of a known size in one', async () => {
  const accepted = Promise.withResolvers<Socket>();
  const server = createServer({ allowHalfOpen: true }, accepted.resolve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const socket = await accepted.promise;
  const { stream, open, close } = pacedSocket(systemClock(), socket);
  const sizes: number[] = [];
  let ended = false;
  stream.on('data', (piece: Buffer) => {
    sizes.push(piece.length);
    if (sizes.length === 3) close();
  });
  stream.on('end', () => (ended = true));
  client.end(Buffer.alloc(2_000));
  await until(() => sizes.length === 3 && socket.readableLength === 2_000 - 3 * 256);
  open(1_000);
  await until(() => ended);
  expect(sizes).toEqual([256, 256, 256, 1_000, 232]);
  stream.destroy();
  await new Promise((resolve) => server.close(resolve));
});
