// SPDX-License-Identifier: Apache-2.0
/** The client's end: unary calls on one HTTP/2 connection. Connected means that the peer's settings have come. */
import { type Socket, connect } from 'node:net';
import type { Clock } from '@csi-sidecars/runtime';
import type { CsiAddress } from '../channel/address.ts';
import type { Connection, Dial } from '../channel/dial.ts';
import { type Send, type SentOutcome, failed, limitedExchange, timeoutText } from '../channel/exchange.ts';
import { errorCodes } from './frames.ts';
import type { Header } from './hpack.ts';
import {
  type MessageReader,
  type Status,
  createMessageReader,
  frameMessage,
  headerOf,
  statusOf,
  statusOfHttp,
  statusOfReset,
} from './message.ts';
import type { MethodCodec } from '../wire/method-codecs.ts';
import { leanCodecOf } from './methods.ts';
import { type Session, type SessionEvents, openSession } from './session.ts';

/** As upstream: an attempt has as long as the pause between attempts. */
const attemptLimitMs = 1000;

export function leanDialer(clock: Clock): Dial {
  return (address) =>
    new Promise((resolve) => {
      const calls = new Map<number, OpenCall>();
      const over = Promise.withResolvers<void>();
      const limit = clock.timer(attemptLimitMs, () => session.close(`no answer within ${attemptLimitMs} ms`));
      const session = openSession(socketTo(address), 'client', {
        ...callEvents(calls),
        onReady: () => {
          limit.cancel();
          resolve({ kind: 'connected', connection: connectionOn({ clock, session, calls }, over.promise) });
        },
        onClosed: (reason) => {
          limit.cancel();
          resolve({ kind: 'failed', reason });
          over.resolve();
          for (const call of calls.values()) call.end({ code: 'Unavailable', detail: reason });
        },
      });
    });
}

function socketTo(address: CsiAddress): Socket {
  return address.kind === 'unix' ? connect(address.path) : connect(address.port, address.host);
}

interface OpenCall {
  readonly reader: MessageReader;
  /** Ends the call, once. The message counts if the status is OK. */
  readonly end: (status: Status) => void;
}

interface ConnectionParts {
  readonly clock: Clock;
  readonly session: Session;
  readonly calls: Map<number, OpenCall>;
}

function connectionOn({ clock, session, calls }: ConnectionParts, ended: Promise<void>): Connection {
  const send: Send = ({ method, request, timeoutMs }, done) => {
    const codec = leanCodecOf(method);
    const stream = session.begin();
    if (codec === undefined || stream === undefined) {
      const status: Status =
        codec === undefined
          ? { code: 'Unimplemented', detail: `unknown method ${method}` }
          : { code: 'Unavailable', detail: 'the driver is going away' };
      done(outcomeOf(status, { method, codec, message: undefined }));
      return { cancel: () => undefined };
    }
    const reader = createMessageReader();
    const end = (status: Status): void => {
      if (!calls.delete(stream)) return;
      session.reset(stream, errorCodes.cancel);
      done(outcomeOf(status, { method, codec, message: reader.message() }));
    };
    calls.set(stream, { reader, end });
    session.sendHeaders(stream, requestHeaders(method, timeoutMs), 'more');
    session.sendData(stream, frameMessage(codec.request.encode(request)), 'last');
    return { cancel: () => end({ code: 'Canceled', detail: 'context canceled' }) };
  };
  return {
    exchange: limitedExchange({ clock, send }),
    ended,
    close: () => session.close('grpc: the client connection is closing'),
  };
}

function requestHeaders(method: string, timeoutMs: number): readonly Header[] {
  return [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', method],
    [':authority', 'localhost'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ['grpc-timeout', timeoutText(timeoutMs)],
  ];
}

function callEvents(calls: ReadonlyMap<number, OpenCall>): Pick<SessionEvents, 'onHeaders' | 'onData' | 'onReset'> {
  return {
    onHeaders: (stream, headers, position) => {
      // Headers and trailers look alike here: an answer without a message has only the latter.
      const isFirst = headers.some(([name]) => name === ':status');
      const refused = isFirst ? statusOfHttp(headerOf(headers, ':status')) : undefined;
      if (refused !== undefined) calls.get(stream)?.end(statusOf(headers) ?? refused);
      else if (position === 'last') calls.get(stream)?.end(statusOf(headers) ?? noStatus);
    },
    onData: (stream, bytes, position) => {
      const call = calls.get(stream);
      const status = call?.reader.read(bytes) ?? (position === 'last' ? noStatus : undefined);
      if (status !== undefined) call?.end(status);
    },
    onReset: (stream, code) => calls.get(stream)?.end(statusOfReset(code)),
  };
}

const noStatus: Status = { code: 'Internal', detail: 'server closed the stream without sending trailers' };

interface Answer {
  readonly method: string;
  readonly codec: MethodCodec | undefined;
  readonly message: Buffer | undefined;
}

function outcomeOf(status: Status, { method, codec, message }: Answer): SentOutcome {
  if (status.code !== 'OK') return failed({ code: status.code, method, detail: status.detail });
  if (message === undefined || codec === undefined) {
    return failed({ code: 'Internal', method, detail: 'no message in the answer of a unary call' });
  }
  try {
    return { kind: 'answered', response: codec.response.decode(message) };
  } catch (error) {
    const detail = `Response message parsing error: ${error instanceof Error ? error.message : String(error)}`;
    return failed({ code: 'Internal', method, detail, isUnreadable: true }, error);
  }
}
