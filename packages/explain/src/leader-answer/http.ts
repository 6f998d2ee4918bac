// SPDX-License-Identifier: Apache-2.0
/**
 * One GET of an endpoint on this machine, or at the end of a port-forward. Redirects are not followed, and no more is read than an answer may
 * have.
 */
import { request as startRequest } from 'node:http';
import type { Duplex } from 'node:stream';

export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export interface HttpAsking {
  readonly signal: AbortSignal;
  /** The largest body that is read. Default: 64 KiB. */
  readonly mostBytes?: number | undefined;
}

/** `connect`: what carries the request; default: a connection to the host of the URL. */
export type HttpCarried = HttpAsking & { readonly connect?: () => Duplex };

/** Rejects when there is no answer, when it has more bytes than it may have, and with the reason of the signal. */
export type AskHttp = (url: URL, asking: HttpCarried) => Promise<HttpAnswer>;

const kib = 1_024;

export const askHttp: AskHttp = (url, { signal, mostBytes = 64 * kib, connect }) =>
  new Promise((resolve, reject) => {
    const carrier = connect === undefined ? { agent: false } : { createConnection: connect };
    const request = startRequest(url, { ...carrier, signal, headers: { accept: 'application/json' } }, (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > mostBytes) request.destroy(new Error(`the answer has more than ${mostBytes / kib} KiB`));
        else chunks.push(chunk);
      });
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          contentType: response.headers['content-type'] ?? '',
          body: Buffer.concat(chunks).toString(),
        }),
      );
      response.on('error', reject);
    });
    request.on('error', (error) => reject(signal.aborted ? (signal.reason as Error) : error));
    request.end();
  });
