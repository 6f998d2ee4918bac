// SPDX-License-Identifier: Apache-2.0
/** A list read from the API server page by page, so that a long one is never in memory as a whole. */
import { type ApiClient, definedOnly, type KubeObject, type Resource } from '@csi-sidecars/runtime';

export interface PageQuery {
  /** Undefined: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
}

const limit = 500;

/** Rejects like the client; with status 410 if a page has expired before it was asked for. */
export async function* pagesOf<T extends KubeObject>(
  client: Pick<ApiClient, 'list'>,
  { resource, namespace, labelSelector }: PageQuery & { readonly resource: Resource<T> },
  signal: AbortSignal,
): AsyncGenerator<readonly T[]> {
  let next: string | undefined;
  do {
    const query = definedOnly({ namespace, labelSelector, limit, continue: next });
    const page = await client.list(resource, query, { signal });
    yield page.items;
    next = page.continue;
  } while (next !== undefined && next !== '');
}
