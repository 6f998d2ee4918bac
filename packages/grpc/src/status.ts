// SPDX-License-Identifier: Apache-2.0
/** How a call ends: the status in trailers, and what an HTTP status or a reset stream means instead of one. */
import { type Code, codeFromNumber, numberOfCode } from './codes.ts';
import type { Header } from './hpack/hpack.ts';
import { errorCodes } from './http2/violations.ts';

export interface Status {
  readonly code: Code;
  readonly detail: string;
}

export function headerOf(headers: readonly Header[], name: string): string | undefined {
  return headers.find(([each]) => each === name)?.[1];
}

/** Reads the status from headers or trailers; undefined when they have none. */
export function statusOf(headers: readonly Header[]): Status | undefined {
  const number = headerOf(headers, 'grpc-status');
  if (number === undefined) return undefined;
  // As Go: a number that does not fit into an int32 is no code.
  if (!/^\d{1,10}$/.test(number) || Number(number) > 0x7fff_ffff) {
    return { code: 'Internal', detail: `transport: malformed grpc-status: ${JSON.stringify(number.slice(0, 100))}` };
  }
  return { code: codeFromNumber(Number(number)), detail: decodeDetail(headerOf(headers, 'grpc-message') ?? '') };
}

export function statusHeaders({ code, detail }: Status): readonly Header[] {
  const number = String(numberOfCode(code));
  return [['grpc-status', number], ...(detail === '' ? [] : [['grpc-message', encodeDetail(detail)] as const])];
}

/** Says why a response is none of a gRPC server: it comes from a proxy, or from another protocol. As grpc-go. */
export function statusOfHttp(headers: readonly Header[]): Status | undefined {
  const httpStatus = headerOf(headers, ':status') ?? '';
  if (httpStatus !== '200') {
    const detail = `unexpected HTTP status code received from server: ${httpStatus}`;
    return { code: httpCodes.get(httpStatus) ?? 'Unknown', detail };
  }
  if (isGrpc(headers)) return undefined;
  return { code: 'Unknown', detail: `unexpected content-type ${JSON.stringify(contentTypeOf(headers).slice(0, 100))}` };
}

const httpCodes: ReadonlyMap<string, Code> = new Map<string, Code>([
  ['400', 'Internal'],
  ['401', 'Unauthenticated'],
  ['403', 'PermissionDenied'],
  ['404', 'Unimplemented'],
  ['429', 'Unavailable'],
  ['502', 'Unavailable'],
  ['503', 'Unavailable'],
  ['504', 'Unavailable'],
]);

export function isGrpc(headers: readonly Header[]): boolean {
  return /^application\/grpc(?:$|[+;])/i.test(contentTypeOf(headers));
}

function contentTypeOf(headers: readonly Header[]): string {
  return headerOf(headers, 'content-type') ?? '';
}

export function codeOfReset(code: number): Code {
  return resetCodes.get(code) ?? 'Internal';
}

const resetCodes: ReadonlyMap<number, Code> = new Map<number, Code>([
  [errorCodes.refusedStream, 'Unavailable'],
  [errorCodes.cancel, 'Canceled'],
  [errorCodes.enhanceYourCalm, 'ResourceExhausted'],
  [errorCodes.inadequateSecurity, 'PermissionDenied'],
]);

/** Decodes percent-encoded UTF-8; text that is not encoded properly stays as it is. */
function decodeDetail(text: string): string {
  const bytes = Buffer.from(
    text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
  return bytes.toString();
}

function encodeDetail(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) =>
      byte < 0x20 || byte > 0x7e || byte === 0x25
        ? `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
        : String.fromCharCode(byte),
    )
    .join('');
}
