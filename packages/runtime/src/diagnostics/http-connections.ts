// SPDX-License-Identifier: Apache-2.0
/**
 * HTTP for clients that are strangers, on node:http. No client takes the time or the memory of the process from others:
 *
 * | A client | Then |
 * |---|---|
 * | sends requests before it has its answers | one at a time is served, then there is a pause; little is read ahead |
 * | opens more connections than the limit | one of the client with the most connections is closed; if that is the new one, it is not read and waits for its end |
 * | leaves bodies or answers in memory, beyond the limit of all together | its connection is closed |
 * | is silent, or reads nothing of its answer | its connection is closed after `silenceMs`, between two requests after `idleMs` |
 *
 * Not here: listening, TLS, and what is answered.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createRequestLimiter } from '../api/request-limiter.ts';
import type { Clock } from '../clock/clock.ts';
import { type BudgetedConnection, type ConnectionLimits, createConnectionBudget } from './connection-budget.ts';
import { type PacedSocket, pacedSocket } from './paced-socket.ts';

export interface HttpLimits extends ConnectionLimits {
  readonly silenceMs: number;
  /** Instead of `silenceMs` for a client that has its answer and has sent no other request; default `silenceMs`. */
  readonly idleMs?: number;
}

export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Of the client, as the connection has it. */
  readonly address: string | undefined;
  /** Rejects when the client is gone. A body that is too large is not read, and its connection ends with the answer. */
  readonly body: (maxBytes: number) => Promise<Buffer | 'too large'>;
  readonly send: (answer: HttpAnswer) => void;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** One object in several answers is in memory once. */
  readonly body: Uint8Array;
}

export interface HttpConnections {
  /** Takes over a connection, of TCP or of TLS. */
  readonly accept: (socket: Socket) => void;
  /** Ends all of them at once. */
  readonly close: () => void;
}

interface Connection extends BudgetedConnection {
  readonly socket: Socket;
  readonly paced: PacedSocket;
  /** Requests whose turn has not come. node:http parses a few of them at once. */
  readonly queue: HttpExchange[];
  held: { readonly length: number } | undefined;
  isServed: boolean;
}

/** No scraper and no kubelet sends a request before it has the last answer. A program that is busy with them would keep more memory. */
const pipeliningPauseMs = 100;
/** How often a connection too many is closed. Its client may open the next one at once, which costs more than to keep this one. */
const turningAway = { qps: 20, burst: 10 };
const mostTurnedAway = 256;

/** The callback sends an answer, unless the client is gone before. */
export function createHttpConnections(
  { clock }: { readonly clock: Clock },
  limits: HttpLimits,
  serve: (exchange: HttpExchange) => Promise<void>,
): HttpConnections {
  const budget = createConnectionBudget<Connection>(limits);
  const open = new Map<Duplex, Connection>();
  const turnedAway = new Set<Socket>();
  const turns = createRequestLimiter(clock, turningAway);
  let pause: Promise<void> | undefined;
  // It does not listen, so it has no timeouts of its own.
  const server = createServer();
  server.on('request', arrive);
  server.on('checkExpectation', arrive);

  function accept(socket: Socket): void {
    const { remoteAddress: address } = socket;
    if (!budget.admits(address)) {
      void turnAway(socket);
      return;
    }
    const paced = pacedSocket(clock, socket);
    const { stream } = paced;
    const close = (): void => {
      stream.destroy();
    };
    const connection: Connection = { address, close, socket, paced, queue: [], held: undefined, isServed: false };
    open.set(stream, connection);
    stream.once('close', () => {
      open.delete(stream);
      budget.remove(connection);
    });
    socket.on('timeout', close);
    socket.setTimeout(limits.silenceMs);
    server.emit('connection', stream);
    budget.add(connection);
  }

  async function turnAway(socket: Socket): Promise<void> {
    const gone = new AbortController();
    socket.on('error', () => undefined);
    turnedAway.add(socket);
    socket.once('close', () => {
      turnedAway.delete(socket);
      gone.abort(new Error('the connection is closed'));
    });
    if (turnedAway.size <= mostTurnedAway) {
      await turns.acquire({ priority: 'normal', signal: gone.signal })?.catch(() => undefined);
    }
    socket.destroy();
  }

  function arrive(request: IncomingMessage, response: ServerResponse): void {
    const connection = open.get(request.socket);
    if (connection === undefined) return;
    connection.paced.close();
    connection.queue.push(exchangeOn(connection, request, response));
    if (connection.isServed) return;
    connection.isServed = true;
    serveQueue(connection).catch(() => connection.close());
  }

  async function serveQueue(connection: Connection): Promise<void> {
    const { paced, queue } = connection;
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      clientWaits(connection);
      await serve(next);
      await read(connection, next.response);
      connection.held = undefined;
      await rest(connection);
      if (paced.stream.destroyed) return;
    }
    connection.isServed = false;
    waitForClient(connection, limits.idleMs);
    paced.open();
  }

  /** Timers and all other connections come before its next request. */
  function rest({ queue, socket }: Connection): Promise<void> {
    if (queue.length === 0 && socket.readableLength === 0) return clock.yieldToLoop();
    // One pause for all of them: afterwards they wait for the same answer.
    pause ??= new Promise((resolve) => {
      clock.timer(pipeliningPauseMs, () => {
        pause = undefined;
        resolve();
      });
    });
    return pause;
  }

  /** Resolves when the kernel has the answer, or the connection is closed. */
  async function read(connection: Connection, response: ServerResponse): Promise<void> {
    if (!response.writableEnded) connection.close();
    if (response.writableFinished || connection.paced.stream.destroyed) return;
    waitForClient(connection);
    await new Promise<void>((resolve) => response.once('close', resolve));
  }

  function waitForClient(connection: Connection, ms: number = limits.silenceMs): void {
    budget.waitsForClient(connection);
    connection.socket.setTimeout(ms);
  }

  function clientWaits(connection: Connection): void {
    budget.isServed(connection);
    connection.socket.setTimeout(0);
  }

  function exchangeOn(connection: Connection, request: IncomingMessage, response: ServerResponse): HttpExchange {
    const tooLarge = (): 'too large' => {
      connection.paced.close();
      response.setHeader('connection', 'close');
      return 'too large';
    };
    return {
      request,
      response,
      address: connection.address,
      body: async (maxBytes) => {
        const declared = Number(request.headers['content-length'] ?? 0);
        if (declared > maxBytes) return tooLarge();
        const chunks: Buffer[] = [];
        const held = { length: 0 };
        connection.held = held;
        waitForClient(connection);
        connection.paced.open(declared);
        for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
          held.length += chunk.length;
          if (held.length > maxBytes) return tooLarge();
          chunks.push(chunk);
          budget.makeRoomFor(connection);
        }
        connection.paced.close();
        clientWaits(connection);
        return Buffer.concat(chunks);
      },
      send: ({ status, headers, body }) => {
        connection.held = body;
        budget.makeRoomFor(connection);
        response.writeHead(status, { ...headers, 'content-length': body.length });
        response.end(request.method === 'HEAD' ? undefined : body);
      },
    };
  }

  return {
    accept,
    close: () => {
      for (const connection of open.values()) connection.close();
      for (const socket of turnedAway) socket.destroy();
    },
  };
}
