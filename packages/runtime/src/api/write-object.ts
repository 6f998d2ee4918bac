// SPDX-License-Identifier: Apache-2.0
/**
 * A write to an object that is read from a cache, whatever its verb. The cache shows the answer at once. A write without an answer may
 * have happened, and others may have gone on from there: the object is then in doubt, and no run of a loop works on it before it has
 * been read from the API server.
 */
import type { Informer } from '../informer/informer.ts';
import { mayHaveHappened } from './may-have-happened.ts';
import type { KubeObject } from './objects.ts';

/** Where the object is read from. */
export type WrittenCache<T extends KubeObject> = Pick<Informer<T>, 'remember' | 'doubt'>;

/** `object` is the one that is written; of one that is created namespace and name suffice. Rejects as the write does. */
export async function writeObject<T extends KubeObject, R extends T | undefined>(
  cache: WrittenCache<T>,
  object: T,
  write: () => Promise<R>,
): Promise<R> {
  try {
    const stored = await write();
    if (stored !== undefined) cache.remember(stored);
    return stored;
  } catch (error) {
    if (mayHaveHappened(error)) cache.doubt(object);
    throw error;
  }
}
