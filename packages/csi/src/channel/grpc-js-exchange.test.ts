// SPDX-License-Identifier: Apache-2.0
/** Peers that break the protocol; everything else is in connect.test.ts, over real sockets. */
import { type ChannelInterface, type InterceptingListener, Metadata, status } from '@grpc/grpc-js';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import type { RequestOf } from '../methods.ts';
import { exchangeOn } from './grpc-js-exchange.ts';

const method = '/csi.v1.Controller/CreateVolume';
const limit = { timeoutMs: 1000 };

/** Like grpc-js: the messages, then the status, unless the call was canceled with another status. */
function answering(...messages: readonly Buffer[]) {
  const canceled: unknown[] = [];
  const createCall = () => ({
    start: (_metadata: Metadata, listener: InterceptingListener): void =>
      queueMicrotask(() => {
        listener.onReceiveMetadata(new Metadata());
        for (const message of messages) listener.onReceiveMessage(message);
        const [first] = canceled as { code: status; details: string }[];
        listener.onReceiveStatus({ code: status.OK, details: '', ...first, metadata: new Metadata() });
      }),
    startRead: () => undefined,
    sendMessageWithContext: () => undefined,
    halfClose: () => undefined,
    cancelWithStatus: (code: status, details: string): void => void canceled.push({ code, details }),
  });
  const exchange = exchangeOn({ clock: new FakeClock(), channel: { createCall } as unknown as ChannelInterface });
  return { exchange, canceled };
}

it('given an answer that cannot be decoded, then the failure records that the driver did answer', async () => {
  const { exchange, canceled } = answering(Buffer.from([0x0a, 0xff]));
  const outcome = await exchange(method, {}, limit);
  const detail = 'Response message parsing error: the message ends too early';
  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'Internal', method, detail, isUnreadable: true } });
  expect(canceled).toEqual([{ code: status.INTERNAL, details: detail }]);
  const readable = await answering(Buffer.alloc(0)).exchange(method, {}, limit);
  expect(readable).toMatchObject({ kind: 'answered', response: { volume: null } });
});

it('given no answer, or two, then the call fails', async () => {
  const none = await answering().exchange(method, {}, limit);
  expect(none).toMatchObject({ kind: 'failed', error: { code: 'Unimplemented', detail: 'No message received' } });
  const two = await answering(Buffer.alloc(0), Buffer.alloc(0)).exchange(method, {}, limit);
  expect(two).toMatchObject({
    kind: 'failed',
    error: { code: 'Unimplemented', detail: 'Too many responses received' },
  });
});

it('given a request that cannot be encoded, then it is not sent, and the failure gives the reason', async () => {
  const request = { capacity_range: { required_bytes: 'many' } } as RequestOf<typeof method>;
  const outcome = await answering(Buffer.alloc(0)).exchange(method, request, limit);
  expect(outcome).toMatchObject({
    kind: 'failed',
    error: { code: 'Internal', detail: 'Request message serialization failure: Cannot convert many to a BigInt' },
  });
});

it('given a method that is not declared, then it is not sent', async () => {
  const unknown = '/csi.v1.Controller/Nothing' as typeof method;
  expect(await answering(Buffer.alloc(0)).exchange(unknown, {}, limit)).toMatchObject({
    kind: 'failed',
    error: { code: 'Unimplemented', method: unknown, detail: `unknown method ${unknown}` },
  });
});

it('given a driver that fails, or a request that cannot be encoded, then the failure names the method', async () => {
  const request = { capacity_range: { required_bytes: 'many' } } as RequestOf<typeof method>;
  for (const outcome of [
    await answering().exchange(method, request, limit),
    await answering().exchange(method, {}, limit),
  ]) {
    expect(outcome).toMatchObject({ kind: 'failed', error: { method } });
  }
});
