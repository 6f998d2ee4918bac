// SPDX-License-Identifier: Apache-2.0
import type { ListQuery, ObjectRef, Selection } from './client.ts';
import { ApiError } from './errors.ts';
import type { Resource } from './resource.ts';

/** The path of a collection; of all namespaces when none is named. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  if (!resource.namespaced || namespace === undefined) return `${root}/${resource.plural}`;
  return `${root}/namespaces/${encodeURIComponent(namespace)}/${resource.plural}`;
}

/** The path of one object, or of its subresource. */
export function objectPath(resource: Resource, ref: ObjectRef, subresource?: string): string {
  const { name, namespace } = ref;
  // An empty name would turn a DELETE of one object into a DELETE of the collection.
  if (name === '') throw new Error(`the name of a ${resource.kind} must not be empty`);
  const reason = whyNoSegment(name);
  if (reason !== undefined) {
    const message = `invalid resource name ${JSON.stringify(name)}: [${reason}]`;
    throw new ApiError({ status: 404, reason: 'NotFound', message });
  }
  requireNamespace(resource, namespace);
  requireSegment(namespace);
  const path = `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** A namespace that comes from a stranger must not lead to another path. */
function requireSegment(namespace: string | undefined): void {
  const reason = namespace === undefined ? undefined : whyNoSegment(namespace);
  if (reason === undefined) return;
  const message = `invalid namespace ${JSON.stringify(namespace)}: [${reason}]`;
  throw new ApiError({ status: 404, reason: 'NotFound', message });
}

/**
 * Why no object can have this name, so that it is not found; undefined if one can. References are not checked by the API server, and it
 * takes an escaped slash for a separator: `daily/status` would be a request for another resource.
 */
function whyNoSegment(name: string): string | undefined {
  if (name === '.' || name === '..') return `may not be '${name}'`;
  return /[/%]/.exec(name)?.map((found) => `may not contain '${found}'`)[0];
}

export function requireNamespace(resource: Resource, namespace: string | undefined): void {
  if (resource.namespaced && (namespace === undefined || namespace === '')) {
    throw new Error(`a ${resource.kind} needs a namespace`);
  }
}

export type QueryValue = string | number | true | undefined;

/** Appends the parameters that are present. */
export function withQuery(path: string, parameters: Readonly<Record<string, QueryValue>>): string {
  let query = '';
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || value === '') continue;
    query += `${query === '' ? '?' : '&'}${name}=${encodeURIComponent(String(value))}`;
  }
  return path + query;
}

export function selectionQuery(selection: Selection): Readonly<Record<string, QueryValue>> {
  return { labelSelector: selection.labelSelector, fieldSelector: selection.fieldSelector };
}

export function listQuery(query: ListQuery): Readonly<Record<string, QueryValue>> {
  return {
    ...selectionQuery(query),
    limit: query.limit,
    continue: query.continue,
    resourceVersion: query.resourceVersion,
    resourceVersionMatch: query.resourceVersionMatch,
  };
}
