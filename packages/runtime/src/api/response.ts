// SPDX-License-Identifier: Apache-2.0
/** Answers of the API server as values and errors: bounded reading, media types, Status bodies. */
import { decodedBody } from './content-encoding.ts';
import { type StatusDetails, ApiError, type Status, isStatus, toApiError } from './errors.ts';
import { parseJson } from './json.ts';
import { parseRetryAfterMs } from './retry-policy.ts';
import type { TransportRequest, TransportResponse } from './transport.ts';

/** How much of an answer that is no Status is kept in the error. */
const keptBytes = 2048;
/** The longest Status that is read. */
const statusBytes = 1024 * 1024;

export function isSuccess(response: TransportResponse): boolean {
  return response.status >= 200 && response.status <= 299;
}

export interface Expected {
  readonly maxBytes: number;
  /** For endpoints like `/readyz`: JSON or plain text, which comes back as a string. Default: JSON only. */
  readonly content?: 'jsonOrText';
}

/** Reads a 2xx answer; an empty body is undefined. */
export async function readValue(
  request: TransportRequest,
  response: TransportResponse,
  { maxBytes, content }: Expected,
): Promise<unknown> {
  const type = mediaType(response);
  const isText = content === 'jsonOrText' && type === 'text/plain';
  if (type !== undefined && type !== 'application/json' && !isText) throw await unexpectedMediaType(request, response);
  const { bytes, complete } = await readBody(decodedBody(response), maxBytes);
  if (!complete) throw unexpected(request, response, { problem: `a body of more than ${maxBytes} bytes` });
  if (bytes.length === 0) return undefined;
  if (isText) return Buffer.from(bytes).toString();
  let value: unknown;
  try {
    value = parseJson(bytes);
  } catch (cause) {
    throw unexpected(request, response, { problem: 'a body that is not JSON', bytes, cause });
  }
  if (isStatus(value) && value.status !== 'Success') throw refusal(value, response);
  return value;
}

/** The error of an answer that is not 2xx. */
export async function readError(request: TransportRequest, response: TransportResponse): Promise<ApiError> {
  const json = mediaType(response) === 'application/json';
  const { bytes } = await readBody(decodedBody(response), json ? statusBytes : keptBytes);
  if (json) {
    const value = parseOrUndefined(bytes);
    if (isStatus(value)) return refusal(value, response);
  }
  return unexpected(request, response, { problem: 'an error', bytes });
}

/** A 2xx answer that is neither JSON nor anything else we asked for: a captive portal, a proxy's page. */
export async function unexpectedMediaType(request: TransportRequest, response: TransportResponse): Promise<ApiError> {
  const { bytes } = await readBody(decodedBody(response), keptBytes);
  return unexpected(request, response, { problem: 'an unexpected media type', bytes });
}

/** Lower case, without parameters. */
export function mediaType(response: TransportResponse): string | undefined {
  return response.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
}

function refusal(status: Status, response: TransportResponse): ApiError {
  // A refusal inside a 2xx answer carries its own code. For every other answer the HTTP status counts.
  const code = isSuccess(response) ? (status.code ?? 500) : response.status;
  const details = withRetryAfter(status.details, parseRetryAfterMs(response.headers['retry-after']));
  return toApiError({ ...status, code, details }, `the server answered ${code} without a message`);
}

interface Oddity {
  readonly problem: string;
  readonly bytes?: Uint8Array;
  readonly cause?: unknown;
}

function unexpected(request: TransportRequest, response: TransportResponse, oddity: Oddity): ApiError {
  const type = response.headers['content-type'] ?? 'no content type';
  const path = request.path.split('?', 1)[0];
  return new ApiError(
    {
      status: response.status,
      message: `the server answered ${request.method} ${path} with ${oddity.problem}: HTTP ${response.status}, ${type}`,
      details: withRetryAfter(undefined, parseRetryAfterMs(response.headers['retry-after'])),
      body: Buffer.from((oddity.bytes ?? new Uint8Array()).subarray(0, keptBytes)).toString(),
    },
    oddity.cause === undefined ? undefined : { cause: oddity.cause },
  );
}

function withRetryAfter(
  details: StatusDetails | undefined,
  retryAfterMs: number | undefined,
): StatusDetails | undefined {
  if (retryAfterMs === undefined || details?.retryAfterSeconds !== undefined) return details;
  return { ...details, retryAfterSeconds: retryAfterMs / 1000 };
}

function parseOrUndefined(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes);
  } catch {
    // Then it is no Status either.
  }
  return undefined;
}

/** At most `maxBytes`; the rest of a longer body is refused by ending it, which resets its stream. */
async function readBody(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ readonly bytes: Uint8Array; readonly complete: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    chunks.push(chunk);
    if (length > maxBytes) return { bytes: joined(chunks).subarray(0, maxBytes), complete: false };
  }
  return { bytes: joined(chunks), complete: true };
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
}
