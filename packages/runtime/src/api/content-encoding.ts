// SPDX-License-Identifier: Apache-2.0
/**
 * Undoes gzip. We never ask for it, but a server or proxy may send it all the same, a watch even as one complete gzip
 * member per flush; each member is delivered without waiting for the next.
 */
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { readableBody } from './readable-body.ts';
import { TransportError, type TransportResponse } from './transport.ts';

/** The body as it was before compression. Ending it early ends the body below. */
export function decodedBody(response: TransportResponse): AsyncIterable<Uint8Array> {
  return response.headers['content-encoding'] === 'gzip' ? gunzipped(response.body) : response.body;
}

function gunzipped(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const gunzip = createGunzip();
  // The callback is asked for only because pipeline wants one: the error reaches `gunzip` too.
  pipeline(Readable.from(body), gunzip, () => undefined);
  return readableBody(gunzip, {
    toError: (error) =>
      error instanceof TransportError ? error : new TransportError('eof', 'corrupt gzip body', { cause: error }),
    finished: () => gunzip.destroy(),
  });
}
