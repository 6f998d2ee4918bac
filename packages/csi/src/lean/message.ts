// SPDX-License-Identifier: Apache-2.0
/** gRPC over HTTP/2, without the transport: the frame around a message, and the status in the trailers. */
import { type Code, codeFromNumber, codeNames } from '../codes.ts';
import { errorCodes } from './frames.ts';
import type { Header } from './hpack.ts';

const headBytes = 5;
/** As every gRPC has it by default. */
export const maxMessageBytes: number = 4 * 1024 * 1024;

export interface Status {
  readonly code: Code;
  readonly detail: string;
}

export function frameMessage(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(headBytes + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, headBytes);
  return framed;
}

/** Collects the one message of a stream. */
export interface MessageReader {
  /** Not ok: no more is to be read. */
  readonly read: (bytes: Buffer) => Status | undefined;
  readonly message: () => Buffer | undefined;
}

export function createMessageReader(): MessageReader {
  let received: Buffer = Buffer.alloc(0);
  const length = (): number => (received.length < headBytes ? Infinity : received.readUInt32BE(1));
  return {
    read: (bytes) => {
      received = Buffer.concat([received, bytes]);
      if (received.length < headBytes) return undefined;
      if (received[0] !== 0) return { code: 'Unimplemented', detail: 'compressed messages are not supported' };
      if (length() > maxMessageBytes) {
        const detail = `received message larger than max (${length()} vs. ${maxMessageBytes})`;
        return { code: 'ResourceExhausted', detail };
      }
      const isOne = received.length <= headBytes + length();
      return isOne ? undefined : { code: 'Internal', detail: 'more than one message of a unary call' };
    },
    message: () => (received.length === headBytes + length() ? received.subarray(headBytes) : undefined),
  };
}

export function headerOf(headers: readonly Header[], name: string): string | undefined {
  return headers.find(([each]) => each === name)?.[1];
}

/** The status that headers or trailers tell of; undefined when they hold none. */
export function statusOf(headers: readonly Header[]): Status | undefined {
  const number = headerOf(headers, 'grpc-status');
  if (number === undefined) return undefined;
  const code = /^\d+$/.test(number) ? codeFromNumber(Number(number)) : 'Unknown';
  return { code, detail: decodeDetail(headerOf(headers, 'grpc-message') ?? '') };
}

export function statusHeaders({ code, detail }: Status): readonly Header[] {
  const number = /^Code\((\d+)\)$/.exec(code)?.[1] ?? String(codeNames.indexOf(code as 'OK'));
  return [['grpc-status', number], ...(detail === '' ? [] : [['grpc-message', encodeDetail(detail)] as const])];
}

/** Of a peer that is no gRPC server, or has a proxy before it. */
export function statusOfHttp(httpStatus: string | undefined): Status | undefined {
  if (httpStatus === '200') return undefined;
  const detail = `unexpected HTTP status code received from server: ${httpStatus ?? 'none'}`;
  return { code: httpCodes[httpStatus ?? ''] ?? 'Unknown', detail };
}

const httpCodes: Readonly<Record<string, Code>> = {
  '400': 'Internal',
  '401': 'Unauthenticated',
  '403': 'PermissionDenied',
  '404': 'Unimplemented',
  '429': 'Unavailable',
  '502': 'Unavailable',
  '503': 'Unavailable',
  '504': 'Unavailable',
};

export function statusOfReset(code: number): Status {
  const detail = `stream terminated by RST_STREAM with error code: ${code}`;
  return { code: resetCodes.get(code) ?? 'Internal', detail };
}

const resetCodes: ReadonlyMap<number, Code> = new Map<number, Code>([
  [errorCodes.refusedStream, 'Unavailable'],
  [errorCodes.cancel, 'Canceled'],
  [errorCodes.enhanceYourCalm, 'ResourceExhausted'],
  [errorCodes.inadequateSecurity, 'PermissionDenied'],
]);

/** Percent-encoded UTF-8; what is not encoded properly stays as it is. */
function decodeDetail(text: string): string {
  const bytes = Buffer.from(
    text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
  return bytes.toString('utf8');
}

function encodeDetail(text: string): string {
  return [...Buffer.from(text, 'utf8')]
    .map((byte) =>
      byte < 0x20 || byte > 0x7e || byte === 0x25
        ? `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
        : String.fromCharCode(byte),
    )
    .join('');
}
