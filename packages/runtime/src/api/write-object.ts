// SPDX-License-Identifier: Apache-2.0
/**
 * A write to an object that is read from a cache, whatever its verb. The cache shows the answer at once. A write without an answer may
 * have happened, and others may have gone on from there: the object is then in doubt, and no run of a loop works on it before it has
 * been read from the API server. So it is after NotFound, if the cache still shows it.
 */
import type { Informer } from '../informer/informer.ts';
import { isNotFound } from './error-predicates.ts';
import { mayHaveHappened } from './may-have-happened.ts';
import type { KubeObject } from './objects.ts';

/** Where the object is read from. */
export type WrittenCache<T extends KubeObject> = Pick<Informer<T>, 'remember' | 'doubt'>;

/**
 * `object` is the one that is written; of one that is created namespace and name suffice. `write` resolves with undefined if the object is
 * gone then. Rejects as the write does.
 */
export async function writeObject<T extends KubeObject, R extends T | undefined>(
  cache: WrittenCache<T>,
  object: T,
  write: () => Promise<R>,
): Promise<R> {
  try {
    const stored = await write();
    cache.remember(stored ?? atItsEnd(object));
    return stored;
  } catch (error) {
    if (isNotFound(error)) cache.doubt(object, 'notFound');
    else if (mayHaveHappened(error)) cache.doubt(object);
    throw error;
  }
}

/** As a cache expects an object that no longer exists. */
function atItsEnd<T extends KubeObject>(object: T): T {
  const { deletionTimestamp = '1970-01-01T00:00:00Z' } = object.metadata ?? {};
  return { ...object, metadata: { ...object.metadata, deletionTimestamp, finalizers: [] } };
}
