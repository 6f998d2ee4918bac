// SPDX-License-Identifier: Apache-2.0
/**
 * Converts an object of the server to one of the cache: managedFields dropped (60 percent of a volume, and unused), the user's
 * transform, type meta stamped, equal parts shared, and in tests frozen.
 *
 * managedFields are set to undefined, not deleted: deleting turns the object into a dictionary, which costs more than the
 * empty slot and gives every object a shape of its own.
 */
import { apiVersionOf, type Resource } from '../api/resource.ts';
import type { KubeObject, ObjectMeta } from '../api/objects.ts';
import type { ServerObject } from './decode/watch-event.ts';
import { createCompact } from './compact.ts';

/**
 * Runs once on every object before it is cached, and must be idempotent. It owns the object that it receives: it may return
 * the changed object, or another one of the same name and namespace. Undefined: the object is filtered out. It is not stored
 * and no handler is called; a stored one is deleted. If a transform throws, the cached state of the object stays as it is.
 */
export interface Transform<T extends KubeObject> {
  /** Part of an informer's identity: two transforms with one id do the same. */
  readonly id: string;
  readonly apply: (object: T) => T | undefined;
}

/** The part of an object's metadata that a transform has to keep. */
export function identityOf(metadata: ObjectMeta | undefined): ObjectMeta {
  const { namespace, name, uid, resourceVersion } = metadata ?? {};
  // An object that is written down with all its fields takes less memory than one that gets them one by one.
  if (name !== undefined && uid !== undefined && resourceVersion !== undefined)
    return namespace === undefined ? { name, uid, resourceVersion } : { namespace, name, uid, resourceVersion };
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

export interface PrepareOptions<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly transform: Transform<T> | undefined;
  /** What is kept of an object that the transform keeps. Default: all of it. */
  readonly keep?: ((object: T) => T | undefined) | undefined;
  /** `frozen` makes every cached object immutable at run time: a test aid. */
  readonly objects: 'plain' | 'frozen';
}

/** Undefined: filtered out. Throws what the transform throws. */
export type Prepare<T extends KubeObject> = (object: ServerObject) => T | undefined;

export function createPrepare<T extends KubeObject>(options: PrepareOptions<T>): Prepare<T> {
  const { resource, transform, keep = (object) => object, objects } = options;
  const apiVersion = apiVersionOf(resource);
  const { kind } = resource;
  const compact = createCompact();
  return (object) => {
    const draft = object as Draft;
    if (draft.metadata.managedFields !== undefined) draft.metadata.managedFields = undefined;
    if (draft.metadata.selfLink !== undefined) draft.metadata.selfLink = undefined;
    const own = (transform === undefined ? object : transform.apply(object as KubeObject as T)) as T | undefined;
    const kept = own && keep(own);
    if (kept === undefined) return undefined;
    compact(kept);
    // Constants shared by all objects; objects that carry metadata only name another type on the wire.
    (kept as Draft).apiVersion = apiVersion;
    (kept as Draft).kind = kind;
    return objects === 'frozen' ? deepFreeze(kept) : kept;
  };
}

/** An object that is not shared yet. */
interface Draft {
  apiVersion?: string;
  kind?: string;
  metadata: { managedFields?: unknown; selfLink?: unknown };
}

function deepFreeze<T>(value: T): T {
  // What is no object counts as frozen.
  if (Object.isFrozen(value)) return value;
  for (const part of Object.values(value as object)) deepFreeze(part);
  return Object.freeze(value);
}
