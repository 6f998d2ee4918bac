// SPDX-License-Identifier: Apache-2.0
/** The span of one write to the API server, all attempts of the client included. */
import { ApiError } from '../api/errors.ts';
import type { Resource } from '../api/resource.ts';
import { collectionPath } from '../api/resource-path.ts';
import type { CallParent, Span } from './tracer.ts';

export interface TracedWrite {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly resource: Resource;
  readonly subresource?: string | undefined;
  /** Host and port of the server; undefined if not known. */
  readonly host: string | undefined;
}

export function startWriteSpan(parent: CallParent, write: TracedWrite): Span | undefined {
  const { method, resource, subresource, host } = write;
  const suffix = subresource === undefined ? '' : `/${subresource}`;
  return parent.child(`${method} ${resource.plural}${suffix}`, {
    'http.request.method': method,
    'http.request.resend_count': 0,
    'server.address': host?.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''),
    'url.template': templateOf(resource) + (method === 'POST' ? '' : `/{name}${suffix}`),
  });
}

/** The path with the names of the variables in place of values. */
function templateOf(resource: Resource): string {
  const path = collectionPath(resource);
  if (!resource.namespaced) return path;
  return path.slice(0, -resource.plural.length) + `namespaces/{namespace}/${resource.plural}`;
}

/** Ends the span with the work, whose failure is thrown on. */
export async function ended<T>(span: Span, work: Promise<T>): Promise<T> {
  try {
    const value = await work;
    span.end('ended');
    return value;
  } catch (error) {
    if (error instanceof ApiError) span.set({ 'http.response.status_code': error.status });
    span.end('failed');
    throw error;
  }
}
