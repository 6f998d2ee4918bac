// SPDX-License-Identifier: Apache-2.0
/**
 * A pool of HTTP/1.1 connections: one per running request, at most 25 idle ones kept for the next. For servers and proxies
 * that do not speak HTTP/2, for plain http endpoints, and when HTTP/2 is switched off.
 *
 * A pool in which HTTP/1.1 was negotiated takes no more requests after its last connection is closed: the server behind the
 * address may be another one by then, so the next request negotiates again.
 */
import { Agent, request as startRequest } from 'node:http';
import type { Socket } from 'node:net';
import { readableBody } from '../readable-body.ts';
import { abortError, TransportError, type TransportRequest, type TransportResponse } from '../transport.ts';
import { type Connection, headersOf } from './connection.ts';
import { toTransportError } from './socket-error.ts';

const maxIdleConnections = 25;
/** As Go's client: shorter than the time after which servers close, so that no request is sent into a closing connection. */
const idleTimeoutMs = 90_000;
const maxHeaderBytes = 1024 * 1024;

export interface Http1Options {
  /** The connection on which HTTP/1.1 was negotiated, used before others are opened. Undefined: there is no choice. */
  readonly first: Socket | undefined;
  readonly dial: () => Promise<Socket>;
  /** Value of the Host header. */
  readonly authority: string;
  /** Put in front of every path: scheme and authority when requests go to a proxy by their whole URL. */
  readonly prefix: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Called once, when nothing is left of a pool that takes no more requests. */
  readonly closed: () => void;
}

export function createHttp1Connections(options: Http1Options): Connection {
  const sockets = new Set<Socket>();
  const agent = new Agent({ keepAlive: true, maxFreeSockets: maxIdleConnections, timeout: idleTimeoutMs });
  const wasNegotiated = options.first !== undefined;
  let retired = false;
  let destroyed: Error | undefined;
  let opening = 0;
  let isClosed = false;
  const closeIfDone = (): void => {
    if (sockets.size > 0 || opening > 0 || isClosed) return;
    if (wasNegotiated) retired = true;
    if (!retired) return;
    isClosed = true;
    options.closed();
  };
  const track = (socket: Socket): void => {
    sockets.add(socket);
    // The request that uses the socket handles its errors; without a request they are ignored.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      sockets.delete(socket);
      closeIfDone();
    });
  };
  const open = async (callback: (error: Error | null, socket: Socket) => void): Promise<void> => {
    let socket = spare;
    spare = undefined;
    if (socket === undefined || socket.destroyed) {
      opening += 1;
      try {
        socket = await options.dial();
      } catch (error) {
        opening -= 1;
        callback(error as Error, undefined as never);
        closeIfDone();
        return;
      }
      opening -= 1;
      track(socket);
      if (destroyed !== undefined) {
        socket.destroy(destroyed);
        // A request that gets a destroyed socket never ends in Node.js 22.
        callback(destroyed, undefined as never);
        return;
      }
    }
    callback(null, socket);
  };
  let spare = options.first;
  if (spare !== undefined) track(spare);
  agent.createConnection = (_options, callback) => {
    if (callback !== undefined) void open(callback);
    return undefined;
  };
  return {
    send: (request) => exchange(agent, options, request),
    availability: () => (retired ? 'closed' : 'open'),
    retire: () => {
      retired = true;
      // Connections in use are closed instead of kept when their request ends.
      agent.maxFreeSockets = 0;
      for (const free of Object.values(agent.freeSockets).flat()) free?.destroy();
      spare?.destroy();
      closeIfDone();
    },
    destroy: async (reason) => {
      retired = true;
      destroyed = reason;
      const gone = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
      for (const socket of sockets) socket.destroy(reason);
      await Promise.all(gone);
    },
  };
}

function exchange(agent: Agent, options: Http1Options, request: TransportRequest): Promise<TransportResponse> {
  const { method, path, headers, body, signal } = request;
  if (signal.aborted) return Promise.reject(abortError(signal));
  return new Promise((resolve, reject) => {
    const outgoing = startRequest({
      agent,
      method,
      path: options.prefix + path,
      headers: {
        host: options.authority,
        ...options.headers,
        ...headers,
        ...(body !== undefined && { 'content-length': body.length }),
      },
      maxHeaderSize: maxHeaderBytes,
    });
    let answered = false;
    const onAbort = (): void => {
      outgoing.destroy(abortError(signal));
    };
    const finished = (): void => signal.removeEventListener('abort', onAbort);
    const failure = (error: unknown): TransportError => {
      if (signal.aborted) return abortError(signal);
      const { failure, message } = toTransportError(error, 'reset');
      // The server closed an idle connection: a read may be repeated at once, but a write may have been received.
      const stale = failure === 'reset' && outgoing.reusedSocket && !answered && method === 'GET';
      return new TransportError(stale ? 'unprocessed' : failure, message, { cause: error });
    };
    signal.addEventListener('abort', onAbort, { once: true });
    outgoing.on('error', (error) => {
      if (answered) return;
      finished();
      reject(failure(error));
    });
    outgoing.on('response', (response) => {
      answered = true;
      resolve({
        status: response.statusCode!,
        headers: headersOf(response.headers),
        body: readableBody(response, {
          toError: failure,
          truncated: () => (response.complete ? undefined : failure(new TransportError('eof', 'unexpected EOF'))),
          finished: (how) => {
            finished();
            if (how === 'early') response.destroy();
          },
        }),
      });
    });
    outgoing.end(body);
  });
}
