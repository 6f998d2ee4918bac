// SPDX-License-Identifier: Apache-2.0
/**
 * Callers in a process of their own. The parent sends one command at a time and gets its answer. Arguments: port, file with the authority's certificate.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { aClient, type TestClient } from '@csi-sidecars/snapshot-metadata/testing';
import { namespace } from './api-server.ts';

export type Command =
  /** One stream, to its end. */
  | { readonly kind: 'read'; readonly snapshot: string }
  /** Each on a connection of its own: the first message is read, then nothing more. They stay until `leave`. */
  | { readonly kind: 'stall'; readonly snapshot: string; readonly callers: number }
  | { readonly kind: 'leave' }
  /** As many as 32 at a time can make; each leaves after the first answer. */
  | { readonly kind: 'handshakes'; readonly seconds: number }
  /** So many requests a second, over eight connections. They are not waited for. */
  | { readonly kind: 'bad tokens'; readonly perSecond: number; readonly seconds: number }
  /** Requests about different snapshots, 100 at a time. */
  | { readonly kind: 'many names'; readonly requests: number };

export interface ReadResult {
  readonly code: string;
  readonly detail: string;
  readonly firstMs: number;
  readonly seconds: number;
  readonly messages: number;
}

const [port = '', caFile = ''] = process.argv.slice(2);
const target = { port: Number(port), ca: readFileSync(caFile, 'utf8') };
const stalled: TestClient[] = [];
const badConnections = 8;
const atOnce = 100;
const handshakesAtOnce = 32;

const open = (client: TestClient, snapshot: string, token = 'good') =>
  client.open('allocated', { security_token: token, namespace, snapshot_name: snapshot });

async function read(client: TestClient, snapshot: string, token?: string): Promise<ReadResult> {
  const startedMs = performance.now();
  let firstMs = 0;
  let messages = 0;
  const stream = open(client, snapshot, token);
  for (;;) {
    const next = await stream.next();
    if (messages === 0) firstMs = performance.now() - startedMs;
    if (next.done === true) {
      return {
        code: next.value.code,
        detail: next.value.detail,
        firstMs,
        seconds: (performance.now() - startedMs) / 1000,
        messages,
      };
    }
    messages += 1;
  }
}

async function stall(snapshot: string): Promise<string> {
  const client = aClient(target);
  stalled.push(client);
  const first = await open(client, snapshot).next();
  return first.done === true ? first.value.code : 'reading';
}

async function sendBadTokens(perSecond: number, seconds: number): Promise<void> {
  const clients = Array.from({ length: badConnections }, () => aClient(target));
  const startedMs = performance.now();
  let sent = 0;
  while (performance.now() - startedMs < seconds * 1000) {
    const due = ((performance.now() - startedMs) / 1000) * perSecond;
    for (; sent < due; sent += 1) void read(clients[sent % badConnections]!, '1-1', `bad-${sent % 50}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  for (const client of clients) client.close();
}

async function openAndLeave(seconds: number): Promise<void> {
  const hello = await clientHello();
  const untilMs = performance.now() + seconds * 1000;
  const open = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(target.port, 'localhost', () => socket.write(hello));
      socket.once('data', () => socket.destroy());
      socket.on('error', () => undefined).once('close', () => resolve());
    });
  await Promise.all(
    Array.from({ length: handshakesAtOnce }, async () => {
      while (performance.now() < untilMs) await open();
    }),
  );
}

function clientHello(): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = new Duplex({
      read: () => undefined,
      write: (bytes: Buffer, _, done) => {
        resolve(bytes);
        done();
      },
    });
    connectTls({ socket, ALPNProtocols: ['h2'] }).on('error', () => undefined);
  });
}

async function askForMany(requests: number): Promise<number> {
  const client = aClient(target);
  let next = 0;
  let served = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < requests) {
        const { code } = await read(client, `1-1-${(next += 1)}`);
        if (code === 'OK') served += 1;
      }
    }),
  );
  client.close();
  return served;
}

async function perform(command: Command): Promise<unknown> {
  switch (command.kind) {
    case 'read': {
      const client = aClient(target);
      const result = await read(client, command.snapshot);
      client.close();
      return result;
    }
    case 'stall':
      return await Promise.all(Array.from({ length: command.callers }, () => stall(command.snapshot)));
    case 'leave':
      for (const client of stalled.splice(0)) client.close();
      return undefined;
    case 'handshakes':
      return await openAndLeave(command.seconds);
    case 'bad tokens':
      return await sendBadTokens(command.perSecond, command.seconds);
    case 'many names':
      return await askForMany(command.requests);
  }
}

process.on('message', (command: Command) => {
  perform(command).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
