// SPDX-License-Identifier: Apache-2.0
/** Our two ends against grpc-go: what each case does, and what must come of it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type CallOutcome, type ClientConnection, connectClient } from '@csi-sidecars/grpc';
import type { Clock } from '@csi-sidecars/runtime';
import { decodeText, echoPath, encodeText, serveEcho } from './echo.ts';
import { runToEnd } from './run-peer.ts';

export interface Case {
  readonly name: string;
  /** Rejects when the case fails. */
  readonly run: () => Promise<void>;
}

export interface CaseDeps {
  readonly clock: Clock;
  /** The program of e2e/tools/grpc-peer. */
  readonly peer: string;
  readonly folder: string;
  readonly signal: AbortSignal;
}

export function grpcGoCases(deps: CaseDeps): readonly Case[] {
  const calls = (count: number, size: number): Case => ({
    name: `grpc-go makes ${count} calls of ${size} bytes to our server`,
    run: () =>
      withOurServer(deps, (socket) => runToEnd(deps.peer, ['call', socket, `${count}`, `${size}`], deps.signal)),
  });
  const atGo = (name: string, work: (connection: ClientConnection, server: ChildProcess) => Promise<void>): Case => ({
    name: `our client at a server on grpc-go: ${name}`,
    run: () => withGoServer(deps, work),
  });
  return [
    calls(1, 0),
    calls(1_000, 100),
    calls(200, 70_000),
    calls(3, 3_000_000),
    atGo('300 calls side by side, where the server allows 10', async (connection) => {
      const texts = Array.from({ length: 300 }, (_, index) => `${index}`.padEnd(1_000, 'x'));
      expectEqual(await Promise.all(texts.map((text) => say(connection, text))), texts);
    }),
    atGo('messages of every size of length and of window', async (connection) => {
      for (const size of [0, 1, 127, 128, 16_383, 16_384, 65_535, 65_536, 4_000_000]) {
        const text = 'x'.repeat(size);
        expectEqual(await say(connection, text), text);
      }
    }),
    atGo('every code, and a text with any characters', async (connection) => {
      for (let code = 1; code <= 17; code += 1) {
        const outcome = await call(connection, `fail ${code} 100% ü\nnext`);
        expectEqual([outcome.kind, outcome.kind === 'failed' && outcome.status.detail], ['failed', '100% ü\nnext']);
      }
    }),
    atGo('an unknown method', async (connection) => {
      const outcome = await call(connection, 'a', '/test.Echo/None');
      expectEqual(outcome.kind === 'failed' && outcome.status.code, 'Unimplemented');
    }),
    atGo('calls that are canceled, and the next one', async (connection) => {
      for (let index = 0; index < 50; index += 1) {
        const never = (): void => undefined;
        connection.call({ method: echoPath, request: encodeText('a'), timeoutMs: 1_000 }, never).cancel();
      }
      expectEqual(await say(connection, 'b'), 'b');
    }),
    atGo('it stops, and the connection ends', async (connection, server) => {
      expectEqual(await say(connection, 'a'), 'a');
      server.stdin?.end('\n');
      await connection.ended;
      const outcome = await call(connection, 'b');
      expectEqual(outcome.kind === 'failed' && outcome.status.code, 'Unavailable');
    }),
  ];
}

async function withOurServer({ clock, folder }: CaseDeps, work: (socket: string) => Promise<void>): Promise<void> {
  const socket = join(folder, 'ours.sock');
  const server = await serveEcho(clock, socket);
  try {
    await work(socket);
  } finally {
    server.close();
  }
}

async function withGoServer(
  { clock, peer, folder, signal }: CaseDeps,
  work: (connection: ClientConnection, server: ChildProcess) => Promise<void>,
): Promise<void> {
  const path = join(folder, 'go.sock');
  rmSync(path, { force: true });
  const server = spawn(peer, ['serve', path], { stdio: ['pipe', 'pipe', 'inherit'], signal });
  try {
    // It says that it listens; a server that cannot ends.
    await Promise.race([once(server.stdout, 'data'), once(server, 'exit')]);
    const result = await connectClient({ clock, limitMs: 5_000 }, { kind: 'unix', path });
    if (result.kind === 'failed') throw new Error(result.reason);
    try {
      await work(result.connection, server);
    } finally {
      result.connection.close();
    }
  } finally {
    server.kill('SIGKILL');
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
  }
}

function call(connection: ClientConnection, text: string, method: string = echoPath): Promise<CallOutcome> {
  return new Promise((resolve) => {
    connection.call({ method, request: encodeText(text), timeoutMs: 30_000 }, resolve);
  });
}

async function say(connection: ClientConnection, text: string): Promise<string> {
  const outcome = await call(connection, text);
  if (outcome.kind === 'failed') throw new Error(`${outcome.status.code}: ${outcome.status.detail}`);
  return decodeText(outcome.message);
}

function expectEqual(found: unknown, expected: unknown): void {
  const [is, wanted] = [JSON.stringify(found), JSON.stringify(expected)];
  if (is !== wanted) throw new Error(`expected ${wanted.slice(0, 200)}, found ${is.slice(0, 200)}`);
}
