// SPDX-License-Identifier: Apache-2.0
/** Lets a test write to the store and read from it without requests. */
import { collectionId, groupVersion, type ResourceType } from './resource-type.ts';
import { copyJson } from './json.ts';
import { keyOf, type StoredMeta, type StoredObject } from './store.ts';
import { notFound } from './status.ts';
import { objectPath } from '../../src/api/resource-path.ts';
import { parseRoute } from './route.ts';
import { remove } from './delete.ts';
import { countGeneration, timestamp, type ObjectView, type WriteDeps } from './write-request.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import type { ObjectRef } from '../../src/api/client.ts';
import type { Resource } from '../../src/api/resource.ts';

/** The stored objects, for arranging and asserting; nothing of it is recorded. */
export interface ObjectAccess extends ObjectView {
  /** Stores an object without validation, admission or a request; identity and defaults are filled in, status is kept. */
  readonly seed: <T extends KubeObject>(object: T) => T;
  /** Replaces an object by what `change` makes of it, as another client would; the version moves on, and the generation where the kind has one. */
  readonly change: <T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, change: (object: T) => T) => T;
  /** Deletes as a user would: an object without finalizers is removed, another one is marked. */
  readonly delete: (resource: Resource, ref: ObjectRef) => void;
  /** Removes the object at once, whatever its finalizers are. */
  readonly remove: (resource: Resource, ref: ObjectRef) => void;
}

export function createObjectAccess(deps: WriteDeps, types: readonly ResourceType[]): ObjectAccess {
  const { store, clock, random } = deps;

  function typeOf(kind: string | undefined, version: string | undefined): ResourceType {
    const type = types.find((each) => each.kind === kind && groupVersion(each) === version);
    if (type === undefined) throw new Error(`unknown kind ${version ?? ''} ${kind ?? ''}`);
    return type;
  }

  function seed<T extends KubeObject>(object: T): T {
    const type = typeOf(object.kind, object.apiVersion);
    const name = object.metadata?.name;
    if (name === undefined) throw new Error('an object to seed needs a name');
    const identity = { uid: random.uuid(), creationTimestamp: timestamp(clock) };
    const place = type.namespaced ? { namespace: 'default' } : {};
    const generation = type.generation === true ? { generation: 1 } : {};
    const metadata = { ...identity, ...generation, ...place, ...object.metadata } as StoredMeta;
    const copy = copyJson({ ...object, metadata }) as unknown as StoredObject;
    const stored = type.defaults?.(copy) ?? copy;
    return store.collection(collectionId(type)).put(keyOf(metadata.namespace, name), stored) as unknown as T;
  }

  return {
    seed,
    get: <T extends KubeObject>(resource: Resource<T>, ref: ObjectRef) =>
      store.collection(collectionId(resource)).get(keyOf(ref.namespace, ref.name)) as unknown as T | undefined,
    list: <T extends KubeObject>(resource: Resource<T>) =>
      (store.collection(collectionId(resource)).list() ?? []) as unknown as readonly T[],
    change<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, change: (object: T) => T) {
      const collection = store.collection(collectionId(resource));
      const key = keyOf(ref.namespace, ref.name);
      const current = collection.get(key);
      if (current === undefined) throw notFound(resource, ref.name);
      const changed = copyJson(change(current as unknown as T), 'keep nulls') as unknown as StoredObject;
      const type = typeOf(resource.kind, groupVersion(resource));
      return collection.put(key, countGeneration(type, changed, current)) as unknown as T;
    },
    delete(resource, ref) {
      const type = typeOf(resource.kind, groupVersion(resource));
      remove(deps, { type, route: parseRoute('DELETE', objectPath(resource, ref)) }, {});
    },
    remove: (resource, ref) => void store.collection(collectionId(resource)).remove(keyOf(ref.namespace, ref.name)),
  };
}
