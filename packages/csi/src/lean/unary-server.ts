// SPDX-License-Identifier: Apache-2.0
/**
 * The server's end: unary methods on a unix socket. It closes no connection for being idle: kubelet keeps one open from
 * GetInfo to NotifyRegistrationStatus, with minutes in between.
 */
import { type Server, type Socket, createServer } from 'node:net';
import { errorCodes } from './frames.ts';
import type { Header } from './hpack.ts';
import {
  type MessageReader,
  type Status,
  createMessageReader,
  frameMessage,
  headerOf,
  statusHeaders,
} from './message.ts';
import { leanCodecOf } from './methods.ts';
import { type Session, openSession } from './session.ts';

/** Full method name -> what it answers. It must not throw. */
export type UnaryHandlers = Readonly<Record<string, (request: object) => object>>;

export interface UnaryServer {
  /** Cuts open calls. The socket's file stays if it was renamed. */
  readonly close: () => void;
}

interface Incoming {
  readonly method: string;
  readonly reader: MessageReader;
}

/** Listens; rejects when that is not possible. */
export async function serveUnary(path: string, handlers: UnaryHandlers): Promise<UnaryServer> {
  const sessions = new Set<Session>();
  const server = createServer((socket) => {
    const session = serve(socket, handlers, () => sessions.delete(session));
    sessions.add(session);
  });
  await listen(server, path);
  return {
    close: () => {
      server.close();
      for (const session of sessions) session.close('the server is closing');
    },
  };
}

async function listen(server: Server, path: string): Promise<void> {
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen(path, listening.resolve);
  await listening.promise;
  server.removeListener('error', listening.reject);
  // Of one connection that could not be accepted; the next one may be.
  server.on('error', () => undefined);
}

function serve(socket: Socket, handlers: UnaryHandlers, onClosed: () => void): Session {
  const incoming = new Map<number, Incoming>();

  const refuse = (stream: number, status: Status): void => {
    incoming.delete(stream);
    session.sendHeaders(stream, [...responseHeaders, ...statusHeaders(status)], 'last');
    session.reset(stream, errorCodes.noError);
  };
  const answer = (stream: number, { method, reader }: Incoming): void => {
    const codec = leanCodecOf(method);
    const handler = handlers[method];
    const message = reader.message();
    if (codec === undefined || handler === undefined) {
      refuse(stream, { code: 'Unimplemented', detail: `unknown method ${method}` });
      return;
    }
    const request = message && attempt(() => codec.request.decode(message));
    if (request === undefined) {
      refuse(stream, { code: 'Internal', detail: 'the request cannot be read' });
      return;
    }
    incoming.delete(stream);
    const response = frameMessage(codec.response.encode(handler(request)));
    session.sendHeaders(stream, responseHeaders, 'more');
    session.sendData(stream, response, 'more');
    session.sendHeaders(stream, statusHeaders({ code: 'OK', detail: '' }), 'last');
  };

  const session = openSession(socket, 'server', {
    onReady: () => undefined,
    onHeaders: (stream, headers, position) => {
      const earlier = incoming.get(stream);
      if (earlier === undefined && !isGrpc(headers)) {
        session.sendHeaders(stream, [[':status', '415']], 'last');
        session.reset(stream, errorCodes.noError);
        return;
      }
      const call = earlier ?? { method: headerOf(headers, ':path') ?? '', reader: createMessageReader() };
      incoming.set(stream, call);
      if (position === 'last') answer(stream, call);
    },
    onData: (stream, bytes, position) => {
      const call = incoming.get(stream);
      if (call === undefined) return;
      const refused = call.reader.read(bytes);
      if (refused !== undefined) refuse(stream, refused);
      else if (position === 'last') answer(stream, call);
    },
    onReset: (stream) => void incoming.delete(stream),
    onClosed,
  });
  return session;
}

const responseHeaders: readonly Header[] = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
];

function isGrpc(headers: readonly Header[]): boolean {
  return (
    headerOf(headers, ':method') === 'POST' && /^application\/grpc\b/.test(headerOf(headers, 'content-type') ?? '')
  );
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
