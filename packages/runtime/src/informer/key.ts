// SPDX-License-Identifier: Apache-2.0
/** Keys of cached objects: `namespace/name`, or `name` alone for what is cluster scoped. */
import type { KubeObject } from '../api/objects.ts';

declare const objectKey: unique symbol;
/** `namespace/name`, or `name` for cluster-scoped objects. Minted by `keyOf` and `toObjectKey` only. */
export type ObjectKey = string & { readonly [objectKey]: true };

export interface ObjectName {
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  readonly name: string;
}

/**
 * `namespace` is empty or undefined for cluster-scoped objects. The key is joined, not concatenated: the engine keeps a
 * concatenation as references to its parts, and every key of a cache would keep a namespace of its own alive.
 */
export function toObjectKey(namespace: string | undefined, name: string): ObjectKey {
  return (namespace === undefined || namespace === '' ? name : [namespace, name].join('/')) as ObjectKey;
}

/** Throws for an object without a name: only the API server's answers and what was read from them have keys. */
export function keyOf(object: KubeObject): ObjectKey {
  const name = object.metadata?.name;
  if (name === undefined || name === '') throw new Error(`object of kind "${object.kind ?? ''}" has no name`);
  return toObjectKey(object.metadata?.namespace, name);
}

/** Throws `unexpected key format: "<key>"` for more than two parts. */
export function splitKey(key: string): ObjectName {
  const [first = '', second, ...rest] = key.split('/');
  if (rest.length > 0) throw new Error(`unexpected key format: "${key}"`);
  return second === undefined ? { name: first } : { namespace: first, name: second };
}
