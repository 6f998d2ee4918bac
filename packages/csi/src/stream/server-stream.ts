// SPDX-License-Identifier: Apache-2.0
/**
 * One server-streaming call of gRPC on a session of HTTP/2: a request, then messages as bytes, then a status.
 *
 * Not grpc-js, because its client reports a status other than OK as soon as it arrives, and drops the messages before it that were not
 * read yet. A proxy has to deliver them. Node's stream keeps both in their order, and holds the peer back while nothing is read.
 *
 * Not here: deadlines (the signal), the connection (driver-streams.ts).
 */
import { once } from 'node:events';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import {
  codeOfReset,
  frameMessage,
  type Status,
  statusOf,
  statusOfHttp,
  timeoutText,
  type Header,
} from '@csi-sidecars/grpc';
import { createMessageReader } from './message-reader.ts';

export interface StreamEnd extends Status {
  /** `google.rpc.Status` in binary form, as the peer sent it. */
  readonly statusDetails?: Buffer | undefined;
}

export interface StreamCall {
  readonly method: string;
  readonly message: Uint8Array;
  /** For the deadline header. Default: none is sent. */
  readonly timeoutMs?: number | undefined;
  /** Resets the stream. The call then ends with Canceled. */
  readonly signal: AbortSignal;
}

/** Yields messages, returns the status. It never throws. Ending the generator early resets the stream. */
export type MessageStream = AsyncGenerator<Buffer, StreamEnd, void>;

const cancelCode = 8;

export async function* callStream(session: ClientHttp2Session, call: StreamCall): MessageStream {
  const { signal } = call;
  if (signal.aborted) return canceled;
  let stream: ClientHttp2Stream;
  try {
    stream = session.request(headersOf(call));
  } catch (error) {
    return { code: 'Unavailable', detail: `transport: ${textOf(error)}` };
  }
  const reset = (): void => stream.close(cancelCode);
  let failure: unknown;
  let head: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders | undefined;
  stream.on('error', (error) => (failure ??= error));
  stream.once('response', (headers) => (head = headers));
  stream.once('trailers', (headers) => (trailers = headers));
  const closed = once(stream, 'close').catch(() => undefined);
  signal.addEventListener('abort', reset, { once: true });
  const reader = createMessageReader(stream);
  try {
    stream.end(frameMessage(call.message));
    let isCutOff = false;
    for (;;) {
      const next = await reader.next();
      if (signal.aborted) return canceled;
      if (next.kind === 'refused') return next.status;
      if (next.kind === 'ended') {
        isCutOff = next.isWithinMessage;
        break;
      }
      yield next.message;
      if (signal.aborted) return canceled;
    }
    await closed;
    if (signal.aborted) return canceled;
    const end = endOf({ head, trailers }) ?? resetEnd(stream, session, failure);
    if (end.code !== 'OK' || !isCutOff) return end;
    return { code: 'Internal', detail: 'the stream has ended within a message' };
  } finally {
    signal.removeEventListener('abort', reset);
    if (!stream.closed) reset();
  }
}

const canceled: StreamEnd = { code: 'Canceled', detail: 'context canceled' };

function headersOf({ method, timeoutMs }: StreamCall): Record<string, string> {
  return {
    ':method': 'POST',
    ':path': method,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(timeoutMs === undefined ? {} : { 'grpc-timeout': timeoutText(timeoutMs) }),
  };
}

interface Received {
  readonly head: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders | undefined;
}

/** Undefined: the peer has sent no status. */
function endOf({ head, trailers }: Received): StreamEnd | undefined {
  const last = trailers ?? head;
  const status = statusOf(asList(last));
  if (status === undefined) return head[':status'] === undefined ? undefined : statusOfHttp(asList(head));
  const details = last['grpc-status-details-bin'];
  return typeof details === 'string' ? { ...status, statusDetails: Buffer.from(details, 'base64') } : status;
}

function resetEnd(stream: ClientHttp2Stream, session: ClientHttp2Session, failure: unknown): StreamEnd {
  // Node cancels the streams of a connection that is lost.
  if (session.destroyed || session.closed) {
    return { code: 'Unavailable', detail: `transport: ${failure === undefined ? 'connection lost' : textOf(failure)}` };
  }
  const code = stream.rstCode ?? 0;
  return { code: codeOfReset(code), detail: `stream terminated by RST_STREAM with error code ${code}` };
}

function asList(headers: IncomingHttpHeaders): readonly Header[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  );
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
