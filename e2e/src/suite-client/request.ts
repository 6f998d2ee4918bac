// SPDX-License-Identifier: Apache-2.0
/**
 * One HTTP request on loopback, for readiness and for what the suite asks of a control plane as its administrator. Plain
 * node:http on purpose: the suite's own needs must not depend on the client that it tests.
 */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';

export interface Call {
  readonly method?: 'GET' | 'POST';
  readonly url: string;
  readonly tls?: Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'rejectUnauthorized'>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly timeoutMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

export function request({ method = 'GET', url, tls, body, timeoutMs = 5000 }: Call): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const send = url.startsWith('https:') ? httpsRequest : httpRequest;
  const outgoing = send(
    url,
    { method, agent: false, timeout: timeoutMs, headers: { 'content-type': 'application/json' }, ...tls },
    (incoming) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => (text += chunk));
      incoming.once('error', reject);
      incoming.once('end', () => resolve({ status: incoming.statusCode ?? 0, text, headers: incoming.headers }));
    },
  );
  outgoing.once('error', reject);
  outgoing.once('timeout', () => outgoing.destroy(new Error(`${method} ${url}: no answer in ${timeoutMs} ms`)));
  outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}
