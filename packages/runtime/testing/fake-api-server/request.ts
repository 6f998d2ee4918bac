// SPDX-License-Identifier: Apache-2.0
/** A bare HTTP call on a transport, for tests that look at the API itself and not through a client. */
import type { Transport, TransportRequest } from '../../src/api/transport.ts';

export interface Call {
  readonly method?: TransportRequest['method'];
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON; the plain text when it is none. */
  readonly body: unknown;
}

/** Default method: GET, or POST when there is a body. */
export async function call(transport: Transport, path: string, options: Call = {}): Promise<Reply> {
  const response = await transport(requestOf(path, options));
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const json = response.headers['content-type']?.startsWith('application/json') === true;
  return { status: response.status, headers: response.headers, body: json ? (JSON.parse(text) as unknown) : text };
}

export interface Frame {
  readonly type: string;
  readonly object: unknown;
}

/** A watch as parsed frames. */
export async function* watchFrames(transport: Transport, path: string, options: Call = {}): AsyncGenerator<Frame> {
  const response = await transport(requestOf(path, options));
  let rest = '';
  for await (const chunk of response.body) {
    const lines = (rest + Buffer.from(chunk).toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line) as Frame;
  }
}

function requestOf(path: string, options: Call): TransportRequest {
  const { body, signal = new AbortController().signal } = options;
  const method = options.method ?? (body === undefined ? 'GET' : 'POST');
  const content = body === undefined ? {} : { 'content-type': 'application/json' };
  const headers = { ...content, ...options.headers };
  return { method, path, headers, signal, ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }) };
}
