// SPDX-License-Identifier: Apache-2.0
/** Peers that are reached or not, and that each of them sees the end of the connection. */
import { once } from 'node:events';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { afterAll, expect, it } from 'vitest';
import type { CsiAddress } from './address.ts';
import { reasonNotReached } from './reach.ts';

const folder = mkdtempSync(join(tmpdir(), 'reach-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function listening(server: Pick<Server, 'listen' | 'once'>, name: string): Promise<CsiAddress> {
  const path = join(folder, name);
  await new Promise<void>((resolve) => void server.listen(path, resolve));
  return { kind: 'unix', text: path, path, lossIsVisible: true };
}

it('given a server that sends its settings, then it is reached, and the connection is closed again', async () => {
  const server = createHttp2Server();
  const closed = new Promise((resolve) => server.once('session', (session) => session.once('close', resolve)));
  const clock = new FakeClock();
  expect(await reasonNotReached(clock, await listening(server, 'http2'), 1000)).toBeUndefined();
  await closed;
  expect(clock.pending).toBe(0);
  server.close();
});

it('given a server that accepts and never answers, when the limit passes, then that is the reason, and the connection is closed', async () => {
  const server = createServer();
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const clock = new FakeClock();
  const reason = reasonNotReached(clock, await listening(server, 'silent'), 1000);
  const [socket] = await accepted;
  const closed = once(socket.resume(), 'close');
  await clock.advance(1000);
  expect(await reason).toBe('no answer within 1000 ms');
  await closed;
  server.close();
});

it('given a server that closes at once, then that is the reason', async () => {
  const server = createServer((socket) => void socket.end());
  const reason = await reasonNotReached(new FakeClock(), await listening(server, 'closing'), 1000);
  expect(reason).toBe('the connection was closed before it was ready');
  server.close();
});

it('given no server, then the reason is the error of the socket', async () => {
  const path = join(folder, 'absent');
  const address = { kind: 'unix', text: path, path, lossIsVisible: true } as const;
  expect(await reasonNotReached(new FakeClock(), address, 1000)).toBe(`connect ENOENT ${path}`);
});
