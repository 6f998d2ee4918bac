// SPDX-License-Identifier: Apache-2.0
/** The span of one write to the API server, all attempts of the client included. */
import { ApiError } from '../api/errors.ts';
import type { Resource } from '../api/resource.ts';
import { collectionPath } from '../api/resource-path.ts';
import type { Attributes, CallParent, Span } from './tracer.ts';

export interface TracedWrite {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly resource: Resource;
  readonly subresource?: string | undefined;
}

export type StartWriteSpan = (parent: CallParent, write: TracedWrite) => Span | undefined;

interface Opening {
  readonly name: string;
  readonly attributes: Attributes;
}

/** `host`: host and port of the server; undefined if not known. What does not differ from write to write is made once. */
export function writeSpans(host: string | undefined): StartWriteSpan {
  const address = host?.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  const openings = new WeakMap<Resource, Map<string, Opening>>();
  return (parent, write) => {
    const { method, resource, subresource } = write;
    const key = subresource === undefined ? method : `${method}/${subresource}`;
    let ofResource = openings.get(resource);
    if (ofResource === undefined) openings.set(resource, (ofResource = new Map()));
    let opening = ofResource.get(key);
    if (opening === undefined) ofResource.set(key, (opening = openingOf(write, address)));
    return parent.child(opening.name, opening.attributes);
  };
}

function openingOf({ method, resource, subresource }: TracedWrite, address: string | undefined): Opening {
  const suffix = subresource === undefined ? '' : `/${subresource}`;
  return {
    name: `${method} ${resource.plural}${suffix}`,
    attributes: {
      'http.request.method': method,
      'http.request.resend_count': 0,
      'server.address': address,
      'url.template': templateOf(resource) + (method === 'POST' ? '' : `/{name}${suffix}`),
    },
  };
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
