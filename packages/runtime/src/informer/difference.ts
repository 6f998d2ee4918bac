// SPDX-License-Identifier: Apache-2.0
/** Compares one content with the next. */
import type { KubeObject } from '../api/objects.ts';
import type { Budget } from './budget.ts';
import { keyOf, type ObjectKey } from './key.ts';
import type { ReadonlyObjects } from './objects-by-key.ts';
import type { Store } from './store.ts';

export interface Difference<T> {
  /** Gone, or replaced by another object of the same name. */
  readonly deleted: Iterable<readonly [ObjectKey, T]>;
  readonly changed: Iterable<Changed<T>>;
}

export interface Changed<T> {
  /** Undefined for a new object. */
  readonly previous: T | undefined;
  readonly current: T;
}

/**
 * Changes the content of the store to that of the collection, and returns the differences. It works in place: only objects
 * that differ are indexed again, so a relist with few changes costs little, and there is no second set of indexes. It works in
 * slices between which the event loop turns: meanwhile the store holds each object in its old or its new state, and no other
 * code may change it.
 */
export async function mergeInto<T extends KubeObject>(
  store: Store<T>,
  collected: ReadonlyObjects<T>,
  budget: Budget,
): Promise<Difference<T>> {
  const deleted: (readonly [ObjectKey, T])[] = [];
  for (const previous of store.objects) {
    const key = keyOf(previous);
    const current = collected.get(key);
    if (current === undefined || !isSameObject(previous, current)) deleted.push([key, previous]);
    const turn = budget.spend();
    if (turn !== undefined) await turn;
  }
  const changed: Changed<T>[] = [];
  for (const current of collected) {
    const turn = budget.spend();
    if (turn !== undefined) await turn;
    const key = keyOf(current);
    const previous = store.objects.get(key);
    if (previous === current) continue;
    changed.push({
      current,
      previous: previous !== undefined && isSameObject(previous, current) ? previous : undefined,
    });
    store.set(key, current);
  }
  for (const [key] of deleted) {
    if (collected.get(key) === undefined) store.delete(key);
    const turn = budget.spend();
    if (turn !== undefined) await turn;
  }
  return { deleted, changed };
}

/** The difference to nothing. */
export function everythingNew<T extends KubeObject>({ objects }: Pick<Store<T>, 'objects'>): Difference<T> {
  return { deleted: [], changed: Iterator.from(objects).map((current) => ({ current, previous: undefined })) };
}

/** An object that was deleted and created again is a different object, even with the same name. */
export function isSameObject(a: KubeObject, b: KubeObject): boolean {
  return a.metadata?.uid === b.metadata?.uid;
}

export function isSameVersion(a: KubeObject, b: KubeObject): boolean {
  const version = a.metadata?.resourceVersion ?? '';
  return isSameObject(a, b) && version !== '' && version === b.metadata?.resourceVersion;
}
