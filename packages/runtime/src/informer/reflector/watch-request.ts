// SPDX-License-Identifier: Apache-2.0
/** What a reflector watches, and the requests for it. */
import type { Selection } from '../../api/client.ts';
import { collectionPath, selectionQuery, withQuery } from '../../api/resource-path.ts';
import { apiVersionOf, type Resource } from '../../api/resource.ts';
import type { WireKind } from '../decode/watch-event.ts';
import type { Demand, PageRequest } from './state.ts';

export interface Target {
  readonly resource: Resource;
  readonly selection: Selection;
  /** `metadata` asks the server for the metadata of the objects only. */
  readonly content: 'full' | 'metadata';
}

const metadataKind: WireKind = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' };

/** The kind and the apiVersion of the target's objects, as the server sends them. */
export function wireKindOf({ resource, content }: Target): WireKind {
  return content === 'metadata' ? metadataKind : { apiVersion: apiVersionOf(resource), kind: resource.kind };
}

export interface Request {
  readonly path: string;
  readonly accept: string;
}

export function watchRequest(
  target: Target,
  demand: Extract<Demand, { readonly kind: 'watch' }>,
  timeoutSeconds: number,
): Request {
  const initialEvents = demand.initialEvents === 'wanted';
  const path = withQuery(pathOf(target), {
    ...selectionQuery(target.selection),
    watch: true,
    allowWatchBookmarks: true,
    resourceVersion: demand.resourceVersion,
    ...(initialEvents && { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }),
    timeoutSeconds,
  });
  return { path, accept: acceptOf(target, 'PartialObjectMetadata') };
}

export function pageRequest(target: Target, page: PageRequest): Request {
  const path = withQuery(pathOf(target), {
    ...selectionQuery(target.selection),
    limit: page.limit,
    continue: page.continue,
    resourceVersion: page.resourceVersion,
  });
  return { path, accept: acceptOf(target, 'PartialObjectMetadataList') };
}

function pathOf({ resource, selection }: Target): string {
  return collectionPath(resource, selection.namespace === '' ? undefined : selection.namespace);
}

/** A server that does not know the metadata form answers with full objects. */
function acceptOf({ content }: Target, as: string): string {
  return content === 'full' ? 'application/json' : `application/json;as=${as};g=meta.k8s.io;v=v1,application/json`;
}
