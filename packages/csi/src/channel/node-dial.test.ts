// SPDX-License-Identifier: Apache-2.0
/** Calls of the node programs over real sockets, with our own client and server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type UnaryMethod, serveUnary } from '@csi-sidecars/grpc';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { afterAll, expect, it } from 'vitest';
import type { Method } from '../methods.ts';
import { nodeCodecOf } from '../node-methods.ts';
import { nodeDialer } from './node-dial.ts';

const folder = mkdtempSync(join(tmpdir(), 'node-dial-'));
afterAll(() => rmSync(folder, { recursive: true }));

const info = '/csi.v1.Identity/GetPluginInfo';
// The channel's types have the methods of CSI only.
const notify = '/pluginregistration.Registration/NotifyRegistrationStatus' as Method;
const limit = { timeoutMs: 1000 };
let servers = 0;

async function connected(methods: Readonly<Record<string, UnaryMethod>>) {
  servers += 1;
  const path = join(folder, `socket-${servers}`);
  const clock = new FakeClock();
  const server = await serveUnary({ clock, methods: new Map(Object.entries(methods)) }, path);
  const dialled = await nodeDialer(clock)({ kind: 'unix', text: path, path, lossIsVisible: true });
  if (dialled.kind === 'failed') throw new Error(dialled.reason);
  const { exchange, close } = dialled.connection;
  return {
    exchange,
    end: (): void => {
      close();
      server.close();
    },
  };
}

it('given a method of the driver, then its answer is decoded', async () => {
  const handle = (): object => ({ name: 'd', vendor_version: '1' });
  const { exchange, end } = await connected({ [info]: { codec: nodeCodecOf(info)!, handle } });
  expect(await exchange(info, {}, limit)).toEqual({
    kind: 'answered',
    response: { name: 'd', vendor_version: '1', manifest: {} },
  });
  end();
});

it('given a method of the registration, then its request is encoded', async () => {
  const requests: object[] = [];
  const handle = (request: object): object => (requests.push(request), {});
  const { exchange, end } = await connected({ [notify]: { codec: nodeCodecOf(notify)!, handle } });
  const request = { plugin_registered: true, error: 'e' };
  expect(await exchange(notify, request as never, limit)).toEqual({ kind: 'answered', response: {} });
  expect(requests).toEqual([request]);
  end();
});

it('given a method that the driver does not have, then that is the failure', async () => {
  const { exchange, end } = await connected({});
  expect(await exchange(info, {}, limit)).toMatchObject({
    kind: 'failed',
    error: { code: 'Unimplemented', method: info, isUnreadable: false },
  });
  end();
});

it('given a method that no node program calls, then it is not sent', async () => {
  const { exchange, end } = await connected({});
  const method = '/csi.v1.Controller/CreateVolume';
  expect(await exchange(method, {}, limit)).toMatchObject({
    kind: 'failed',
    error: { code: 'Unimplemented', method, detail: `unknown method ${method}` },
  });
  end();
});

it('given a request that cannot be encoded, then it is not sent, and the failure gives the reason', async () => {
  const { exchange, end } = await connected({});
  const cause = new TypeError('no text');
  const toString = (): string => {
    throw cause;
  };
  expect(await exchange(notify, { error: { toString } } as never, limit)).toMatchObject({
    kind: 'failed',
    error: { code: 'Internal', method: notify, detail: 'Request message serialization failure: no text', cause },
  });
  end();
});

it('given an answer that cannot be decoded, then the failure records that the driver did answer', async () => {
  const codec = nodeCodecOf(info)!;
  const broken = { ...codec, response: { ...codec.response, encode: () => Buffer.from([0x0a, 0xff]) } };
  const { exchange, end } = await connected({ [info]: { codec: broken, handle: () => ({}) } });
  expect(await exchange(info, {}, limit)).toMatchObject({
    kind: 'failed',
    error: {
      code: 'Internal',
      method: info,
      detail: 'Response message parsing error: the message ends too early',
      isUnreadable: true,
    },
  });
  end();
});
