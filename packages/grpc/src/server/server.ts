// SPDX-License-Identifier: Apache-2.0
/**
 * The server: unary methods on a local socket. It closes no connection that speaks HTTP/2 for being idle: kubelet keeps one open
 * from GetInfo to NotifyRegistrationStatus, with minutes in between. A peer that says nothing loses its connection.
 */
import { type Server, type Socket, createServer } from 'node:net';
import type { Clock } from '@csi-sidecars/runtime';
import type { Header } from '../hpack/hpack.ts';
import type { Session } from '../http2/session-port.ts';
import { openSession } from '../http2/session.ts';
import { errorCodes } from '../http2/violations.ts';
import { type MessageReader, createMessageReader, frameMessage } from '../message-frame.ts';
import { type Status, headerOf, isGrpc, statusHeaders } from '../status.ts';
import type { MethodCodec } from '../wire/method-codecs.ts';

export interface UnaryMethod {
  readonly codec: MethodCodec;
  /** Answers at once. A request whose handler throws gets the code Internal. */
  readonly handle: (request: object) => object;
}

/** Methods by full name. */
export type UnaryMethods = ReadonlyMap<string, UnaryMethod>;

/** Where to listen; see `net.Server.listen`. */
export type ListenAddress = string | { readonly port: number; readonly host: string };

export interface ServeDeps {
  readonly clock: Clock;
  readonly methods: UnaryMethods;
}

export interface UnaryServer {
  /** Cuts open calls. The socket's file stays if it was renamed. */
  readonly close: () => void;
}

/** Kubelet has one or two. Those beyond the limit are closed at once. */
const maxConnections = 100;
/** Time limit for the peer's first settings, as long as grpc-go's. */
const handshakeLimitMs = 120_000;

/** Listens; rejects when that is not possible. */
export async function serveUnary(deps: ServeDeps, address: ListenAddress): Promise<UnaryServer> {
  const sessions = new Set<Session>();
  const server = createServer((socket) => {
    const session = serve(deps, socket, () => sessions.delete(session));
    sessions.add(session);
  });
  server.maxConnections = maxConnections;
  await listen(server, address);
  return {
    close: () => {
      server.close();
      for (const session of sessions) session.close('the server is closing');
    },
  };
}

async function listen(server: Server, address: ListenAddress): Promise<void> {
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen(address, listening.resolve);
  await listening.promise;
  server.removeListener('error', listening.reject);
  // A connection could not be accepted; the next one may be.
  server.on('error', () => undefined);
}

interface Incoming {
  /** The HTTP status of a request that is no gRPC; it is answered when it has ended. */
  readonly refused: string | undefined;
  readonly method: string;
  readonly reader: MessageReader;
}

function serve({ clock, methods }: ServeDeps, socket: Socket, onClosed: () => void): Session {
  const incoming = new Map<number, Incoming>();
  const limit = clock.timer(handshakeLimitMs, () => session.close(`no settings within ${handshakeLimitMs} ms`));

  const refuse = (stream: number, headers: readonly Header[]): void => {
    incoming.delete(stream);
    session.sendHeaders(stream, headers, 'last');
    session.reset(stream, errorCodes.noError);
  };
  const fail = (stream: number, status: Status): void => refuse(stream, [...responseHeaders, ...statusHeaders(status)]);
  const answer = (stream: number, { refused, method, reader }: Incoming): void => {
    if (refused !== undefined) {
      refuse(stream, [[':status', refused]]);
      return;
    }
    const result = answerTo(methods.get(method), method, reader.message());
    if (result.kind === 'failed') {
      fail(stream, result.status);
      return;
    }
    incoming.delete(stream);
    session.sendHeaders(stream, responseHeaders, 'more');
    session.sendData(stream, frameMessage(result.message), 'more');
    session.sendHeaders(stream, statusHeaders({ code: 'OK', detail: '' }), 'last');
  };

  const session: Session = openSession(socket, 'server', {
    onReady: () => limit.cancel(),
    onCapacity: () => undefined,
    onHeaders: (stream, headers, position) => {
      const call = incoming.get(stream) ?? incomingOf(headers);
      incoming.set(stream, call);
      if (position === 'last') answer(stream, call);
    },
    onData: (stream, bytes, position) => {
      const call = incoming.get(stream);
      if (call === undefined) return;
      const refused = call.refused === undefined ? call.reader.read(bytes) : undefined;
      if (refused !== undefined) fail(stream, refused);
      else if (position === 'last') answer(stream, call);
    },
    onReset: (stream) => void incoming.delete(stream),
    onClosed: () => {
      limit.cancel();
      incoming.clear();
      onClosed();
    },
  });
  return session;
}

type Answer =
  | { readonly kind: 'answered'; readonly message: Buffer }
  | { readonly kind: 'failed'; readonly status: Status };

function answerTo(method: UnaryMethod | undefined, name: string, message: Buffer | undefined): Answer {
  if (method === undefined) return failed('Unimplemented', `unknown method ${name}`);
  if (message === undefined) return failed('Internal', 'the request cannot be read');
  const { codec, handle } = method;
  let request: object;
  try {
    request = codec.request.decode(message);
  } catch {
    return failed('Internal', 'the request cannot be read');
  }
  try {
    return { kind: 'answered', message: codec.response.encode(handle(request)) };
  } catch (error) {
    return failed('Internal', String(error));
  }
}

function failed(code: Status['code'], detail: string): Answer {
  return { kind: 'failed', status: { code, detail } };
}

const responseHeaders: readonly Header[] = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
];

function incomingOf(headers: readonly Header[]): Incoming {
  const isPost = headerOf(headers, ':method') === 'POST';
  const refused = isPost ? (isGrpc(headers) ? undefined : '415') : '405';
  return { refused, method: headerOf(headers, ':path') ?? '', reader: createMessageReader() };
}
