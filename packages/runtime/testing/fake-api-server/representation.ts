// SPDX-License-Identifier: Apache-2.0
/** How objects are sent: whole, or as PartialObjectMetadata when the Accept header asks for it first. A version that there is not, `v=1`, is not accepted. */
import { groupVersion, type ResourceType } from './resource-type.ts';
import { notAcceptable } from './status.ts';
import type { StoredObject } from './store.ts';

export type Representation = 'whole' | 'metadata';

/** The first type of the list that the server has. */
export function representationFor(accept: string | undefined): Representation {
  for (const part of (accept ?? '*/*').split(',')) {
    if (!part.includes(';as=')) return 'whole';
    if (/;as=PartialObjectMetadata(List)?;g=meta\.k8s\.io;v=v1(beta1)?$/.test(part.trim())) return 'metadata';
  }
  throw notAcceptable();
}

/** A custom resource of several versions is stored once; the version of the request is what differs. */
export function represent(type: ResourceType, object: StoredObject, as: Representation): object {
  if (as === 'whole') return type.custom === true ? { ...object, apiVersion: groupVersion(type) } : object;
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}

export interface ListFacts {
  readonly type: ResourceType;
  readonly items: readonly StoredObject[];
  readonly metadata: object;
}

/** Items of a list of a built-in kind carry no apiVersion and kind, those of custom resources do. */
export function representList(list: ListFacts, as: Representation): object {
  const { type, items, metadata } = list;
  if (as === 'metadata') {
    const partial = items.map((item) => represent(type, item, as));
    return { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items: partial };
  }
  const head = { kind: `${type.kind}List`, apiVersion: groupVersion(type) };
  // Custom resource lists are sent with sorted keys, so metadata comes after items.
  if (type.custom === true) {
    const whole = items.map((item) => represent(type, item, as));
    return { apiVersion: head.apiVersion, items: whole, kind: head.kind, metadata: { continue: '', ...metadata } };
  }
  return { ...head, metadata, items: items.map(({ apiVersion: _version, kind: _kind, ...rest }) => rest) };
}
