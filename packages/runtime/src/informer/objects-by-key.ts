// SPDX-License-Identifier: Apache-2.0
/**
 * Objects by key, without their keys: a string `namespace/name` takes as much memory as a uid, and both of its parts are in
 * the object already. So an object is found by its name, which few objects have in common, and then by its namespace.
 *
 * Guarantees: in the order in which names came; whatever changes during an iteration, what stays is seen by it once.
 */
import type { KubeObject } from '../api/objects.ts';
import type { ObjectKey } from './informer.ts';

/** Iterates over the objects: a key would be a new string each time. */
export interface ReadonlyObjects<T> extends Iterable<T> {
  readonly size: number;
  get(key: ObjectKey): T | undefined;
}

export interface ObjectsByKey<T> extends ReadonlyObjects<T> {
  /** Its metadata say which key it has. */
  set(object: T): void;
  delete(key: ObjectKey): void;
}

export function createObjectsByKey<T extends KubeObject>(): ObjectsByKey<T> {
  /** name -> the object of that name; by namespace where there are several. */
  const table = new Map<string, T | Map<string, T>>();
  let size = 0;

  const find = ({ namespace, name }: Parts): T | undefined => {
    const found = table.get(name);
    if (found instanceof Map) return found.get(namespace);
    return found !== undefined && partsOf(found).namespace === namespace ? found : undefined;
  };

  return {
    get size() {
      return size;
    },
    get: (key) => find(split(key)),
    set(object) {
      const { namespace, name } = partsOf(object);
      const found = table.get(name);
      if (found instanceof Map) {
        if (!found.has(namespace)) size += 1;
        found.set(namespace, object);
        return;
      }
      const other = found === undefined ? undefined : partsOf(found).namespace;
      if (other !== namespace) size += 1;
      table.set(name, found === undefined || other === namespace ? object : byNamespace(found, object));
    },
    delete(key) {
      const parts = split(key);
      if (find(parts) === undefined) return;
      const found = table.get(parts.name);
      if (found instanceof Map) found.delete(parts.namespace);
      // One that is empty would stay for ever: the names may be as many as the objects ever seen.
      if (!(found instanceof Map) || found.size === 0) table.delete(parts.name);
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

interface Parts {
  /** Empty for what is cluster scoped. */
  readonly namespace: string;
  readonly name: string;
}

function byNamespace<T extends KubeObject>(...objects: readonly T[]): Map<string, T> {
  return new Map(objects.map((object) => [partsOf(object).namespace, object]));
}

function partsOf({ metadata: { namespace = '', name = '' } = {} }: KubeObject): Parts {
  return { namespace, name };
}

function split(key: ObjectKey): Parts {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, Math.max(slash, 0)), name: key.slice(slash + 1) };
}
