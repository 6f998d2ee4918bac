// SPDX-License-Identifier: Apache-2.0
/** A page of a list of which only a part is kept: each object is reduced when it arrives, so that the page itself is never in memory. */
import { readList } from '../informer/decode/list-body.ts';
import type { ListItem } from '../informer/decode/list-item.ts';
import type { ListPage } from './client.ts';
import { decodedBody } from './content-encoding.ts';
import { ApiError } from './errors.ts';
import type { KubeObject } from './objects.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import { mediaType, unexpectedMediaType } from './response.ts';
import type { TransportRequest, TransportResponse } from './transport.ts';

/** Returns what is kept of an object; undefined: nothing. */
export type Keep<T> = (object: T) => T | undefined;

/**
 * Reads a 2xx answer. Until the first object has been handed to `keep` a failure is that of the body, and the page may be read again. After
 * that it is an ApiError, which is not retried: `keep` may count what it sees.
 */
export async function readKeptPage<T extends KubeObject>(
  resource: Resource<T>,
  keep: Keep<T>,
  { request, response }: { readonly request: TransportRequest; readonly response: TransportResponse },
): Promise<ListPage<T>> {
  const type = mediaType(response);
  if (type !== undefined && type !== 'application/json') throw await unexpectedMediaType(request, response);
  const expected = { kind: resource.kind, apiVersion: apiVersionOf(resource) };
  const body = readList(decodedBody(response), expected, { whole: true });
  const items: T[] = [];
  let handed = 0;
  const reading = async <R>(read: () => R | Promise<R>): Promise<R> => {
    try {
      return await read();
    } catch (cause) {
      if (handed === 0) throw cause;
      const message = `a list of ${resource.plural} broke off after ${handed} objects: ${String(cause)}`;
      throw new ApiError({ status: response.status, message, body: '' }, { cause });
    }
  };
  const next = (): Promise<ListItem | undefined> => reading(() => body.next());
  try {
    for (let item = await next(); item !== undefined; item = await next()) {
      if (item.kind !== 'object') continue;
      handed += 1;
      const kept = keep(item.object as KubeObject as T);
      if (kept !== undefined) items.push(kept);
    }
    const end = await reading(() => body.end());
    return {
      items,
      resourceVersion: end.resourceVersion,
      ...(end.continue !== undefined && { continue: end.continue }),
      ...(end.remainingItemCount !== undefined && { remainingItemCount: end.remainingItemCount }),
    };
  } finally {
    await body.close();
  }
}
