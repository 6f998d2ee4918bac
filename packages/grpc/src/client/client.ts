// SPDX-License-Identifier: Apache-2.0
/**
 * The client: unary calls on one HTTP/2 connection. It is connected when the peer's settings have come.
 *
 * Guarantees: `done` of a call is called once, unless the call was canceled; calls beyond the peer's limit of streams wait for
 * their turn; after GOAWAY the calls that the peer has seen go on, the others end as Unavailable, and the connection closes with the last one.
 * Not here: time limits of calls, which their caller keeps; the codec of messages.
 */
import { type Socket, connect as connectSocket } from 'node:net';
import type { Clock } from '@csi-sidecars/runtime';
import type { Header } from '../hpack/hpack.ts';
import type { Session, SessionEvents } from '../http2/session-port.ts';
import { openSession } from '../http2/session.ts';
import { errorCodes } from '../http2/violations.ts';
import { type MessageReader, createMessageReader, frameMessage } from '../message-frame.ts';
import { type Status, codeOfReset, statusOf, statusOfHttp } from '../status.ts';
import { timeoutText } from './timeout-text.ts';

export type Target =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number };

export interface UnaryCall {
  /** Full name: `/package.Service/Method`. */
  readonly method: string;
  readonly request: Uint8Array;
  /** For the header that the server reads. */
  readonly timeoutMs: number;
}

export type CallOutcome =
  | { readonly kind: 'answered'; readonly message: Buffer }
  | { readonly kind: 'failed'; readonly status: Status };

export interface ClientConnection {
  /** What it returns ends the call without an outcome, and resets its stream. */
  readonly call: (call: UnaryCall, done: (outcome: CallOutcome) => void) => { readonly cancel: () => void };
  /** Resolves when the connection is closed, also after `close`. */
  readonly ended: Promise<void>;
  readonly close: () => void;
}

export type ConnectResult =
  | { readonly kind: 'connected'; readonly connection: ClientConnection }
  | { readonly kind: 'failed'; readonly reason: string };

export interface ConnectDeps {
  readonly clock: Clock;
  /** Time limit of the attempt. */
  readonly limitMs: number;
}

/** One attempt. Never rejects. */
export function connectClient({ clock, limitMs }: ConnectDeps, target: Target): Promise<ConnectResult> {
  return new Promise((resolve) => {
    const calls = createCalls(() => session);
    const over = Promise.withResolvers<void>();
    const limit = clock.timer(limitMs, () => session.close(`no answer within ${limitMs} ms`));
    const session: Session = openSession(socketTo(target), 'client', {
      ...calls.events,
      onReady: () => {
        limit.cancel();
        const close = (): void => session.close('grpc: the client connection is closing');
        resolve({ kind: 'connected', connection: { call: calls.call, ended: over.promise, close } });
      },
      onClosed: (reason) => {
        limit.cancel();
        resolve({ kind: 'failed', reason });
        over.resolve();
        calls.endAll({ code: 'Unavailable', detail: reason });
      },
    });
  });
}

function socketTo(target: Target): Socket {
  return target.kind === 'unix' ? connectSocket(target.path) : connectSocket(target.port, target.host);
}

interface OpenCall {
  readonly reader: MessageReader;
  /** Ends the call, once. The message counts if the status is OK. */
  readonly end: (status: Status) => void;
}

interface Calls {
  readonly call: ClientConnection['call'];
  readonly endAll: (status: Status) => void;
  readonly events: Pick<SessionEvents, 'onHeaders' | 'onData' | 'onReset' | 'onCapacity'>;
}

interface WaitingCall {
  readonly start: (stream: number) => void;
  readonly end: (status: Status) => void;
}

function createCalls(sessionOf: () => Session): Calls {
  const open = new Map<number, OpenCall>();
  /** Calls without a stream, in their order. */
  const waiting = new Set<WaitingCall>();

  /** Begins what may begin, and ends what never can. */
  function proceed(): void {
    const session = sessionOf();
    for (const call of waiting) {
      if (session.isGoingAway()) {
        call.end(goingAway);
        continue;
      }
      const stream = session.begin();
      if (stream === undefined) return;
      waiting.delete(call);
      call.start(stream);
    }
    if (session.isGoingAway() && open.size === 0) session.close(goingAway.detail);
  }

  return {
    call: ({ method, request, timeoutMs }, done) => {
      const reader = createMessageReader();
      let stream: number | undefined;
      let isOver = false;
      /** Leaves nothing behind. False: the call was over already. */
      const finish = (): boolean => {
        if (isOver) return false;
        isOver = true;
        waiting.delete(waitingCall);
        if (stream !== undefined) {
          open.delete(stream);
          sessionOf().reset(stream, errorCodes.cancel);
        }
        return true;
      };
      const end = (status: Status): void => {
        if (!finish()) return;
        done(outcomeOf(status, reader.message()));
        proceed();
      };
      const waitingCall: WaitingCall = {
        end,
        start: (begun) => {
          stream = begun;
          open.set(begun, { reader, end });
          sessionOf().sendHeaders(begun, requestHeaders(method, timeoutMs), 'more');
          sessionOf().sendData(begun, frameMessage(request), 'last');
        },
      };
      waiting.add(waitingCall);
      proceed();
      return {
        cancel: () => {
          if (finish()) proceed();
        },
      };
    },
    endAll: (status) => {
      const calls = [...open.values(), ...waiting];
      // Otherwise the end of the first one ends those that wait, with another status.
      waiting.clear();
      for (const call of calls) call.end(status);
    },
    events: { ...streamEvents(open), onCapacity: proceed },
  };
}

const goingAway: Status = { code: 'Unavailable', detail: 'the driver is going away' };

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

function streamEvents(open: ReadonlyMap<number, OpenCall>): Pick<SessionEvents, 'onHeaders' | 'onData' | 'onReset'> {
  return {
    onHeaders: (stream, headers, position) => {
      // An answer without a message has one block, which is headers and trailers.
      const isFirst = headers.some(([name]) => name === ':status');
      const refused = isFirst ? statusOfHttp(headers) : undefined;
      if (refused !== undefined) open.get(stream)?.end(statusOf(headers) ?? refused);
      else if (position === 'last') open.get(stream)?.end(statusOf(headers) ?? noStatus);
    },
    onData: (stream, bytes, position) => {
      const call = open.get(stream);
      const status = call?.reader.read(bytes) ?? (position === 'last' ? noStatus : undefined);
      if (status !== undefined) call?.end(status);
    },
    onReset: (stream, { code, reason }) => open.get(stream)?.end({ code: codeOfReset(code), detail: reason }),
  };
}

const noStatus: Status = { code: 'Internal', detail: 'server closed the stream without sending trailers' };

function outcomeOf(status: Status, message: Buffer | undefined): CallOutcome {
  if (status.code !== 'OK') return { kind: 'failed', status };
  if (message !== undefined) return { kind: 'answered', message };
  return { kind: 'failed', status: { code: 'Internal', detail: 'no message in the answer of a unary call' } };
}
