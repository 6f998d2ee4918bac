// SPDX-License-Identifier: Apache-2.0
import { PassThrough } from 'node:stream';
import { frameMessage } from '@csi-sidecars/grpc';
import { expect, it } from 'vitest';
import { createMessageReader } from './message-reader.ts';

it('given a message larger than what the stream reads ahead, then it is read, and the stream reads no further ahead from then on', async () => {
  const stream = new PassThrough({ highWaterMark: 16 });
  const reader = createMessageReader(stream);
  const message = Buffer.alloc(1000, 7);
  stream.end(Buffer.concat([frameMessage(message), frameMessage(Buffer.alloc(0))]));
  expect(await reader.next()).toEqual({ kind: 'message', message });
  expect(await reader.next()).toEqual({ kind: 'message', message: Buffer.alloc(0) });
  expect(await reader.next()).toEqual({ kind: 'ended', isWithinMessage: false });
  expect(stream.readableHighWaterMark).toBe(16);
});

it('given a message, then its bytes are a copy: they do not keep what else the stream has received', async () => {
  const stream = new PassThrough();
  const reader = createMessageReader(stream);
  const received = Buffer.concat([frameMessage(Buffer.from([1, 2, 3])), Buffer.alloc(60_000)]);
  stream.write(received);
  const next = await reader.next();
  expect(next.kind === 'message' && next.message.buffer === received.buffer).toBe(false);
  stream.destroy();
});
