// SPDX-License-Identifier: Apache-2.0
/**
 * Objects by key, without their keys: a string `namespace/name` takes as much memory as a uid, and both of its parts are in
 * the object already. So an object is found by its name, which few objects have in common, and then by its namespace.
 *
 * Guarantees: iteration follows the order in which names were added; whatever changes meanwhile, each object that stays is
 * visited once.
 */
import type { KubeObject } from '../api/objects.ts';
import type { ObjectKey } from './key.ts';

/** Iterates over the objects: a key would be a new string each time. */
export interface ReadonlyObjects<T> extends Iterable<T> {
  readonly size: number;
  get(key: ObjectKey): T | undefined;
}

export interface ObjectsByKey<T> extends ReadonlyObjects<T> {
  /** Its metadata determine its key. */
  set(object: T): void;
  delete(key: ObjectKey): void;
}

export function createObjectsByKey<T extends KubeObject>(): ObjectsByKey<T> {
  /** name -> the object of that name; by namespace where there are several. */
  const table = new Map<string, T | Map<string, T>>();
  let size = 0;

  const find = (namespace: string, name: string): T | undefined => {
    const found = table.get(name);
    if (found instanceof Map) return found.get(namespace);
    return found !== undefined && namespaceOf(found) === namespace ? found : undefined;
  };

  return {
    get size() {
      return size;
    },
    get: (key) => find(namespaceIn(key), nameIn(key)),
    set(object) {
      const [namespace, name] = [namespaceOf(object), object.metadata?.name ?? ''];
      const found = table.get(name);
      if (found instanceof Map) {
        if (!found.has(namespace)) size += 1;
        found.set(namespace, object);
        return;
      }
      const other = found === undefined ? undefined : namespaceOf(found);
      if (other !== namespace) size += 1;
      table.set(name, found === undefined || other === namespace ? object : byNamespace(found, object));
    },
    delete(key) {
      const [namespace, name] = [namespaceIn(key), nameIn(key)];
      if (find(namespace, name) === undefined) return;
      const found = table.get(name);
      if (found instanceof Map) found.delete(namespace);
      // One that is empty would stay for ever: the names may be as many as the objects ever seen.
      if (!(found instanceof Map) || found.size === 0) table.delete(name);
      size -= 1;
    },
    *[Symbol.iterator]() {
      for (const found of table.values()) {
        if (found instanceof Map) yield* found.values();
        else yield found;
      }
    },
  };
}

function byNamespace<T extends KubeObject>(...objects: readonly T[]): Map<string, T> {
  return new Map(objects.map((object) => [namespaceOf(object), object]));
}

/** Empty for cluster-scoped objects. */
function namespaceOf({ metadata }: KubeObject): string {
  return metadata?.namespace ?? '';
}

function namespaceIn(key: ObjectKey): string {
  return key.slice(0, Math.max(key.indexOf('/'), 0));
}

function nameIn(key: ObjectKey): string {
  return key.slice(key.indexOf('/') + 1);
}
