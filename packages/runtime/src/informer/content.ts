// SPDX-License-Identifier: Apache-2.0
/**
 * The content of an informer: turns what the reflector brings into a changed store and notifications.
 *
 * | change     | stored before        | store  | handlers                                               |
 * |------------|----------------------|--------|--------------------------------------------------------|
 * | ADDED,     | nothing              | set    | add                                                    |
 * | MODIFIED   | another uid          | set    | delete (the old one, not observed), then add           |
 * |            | the same version     | -      | nothing: it is known                                   |
 * |            | anything else        | set    | update                                                 |
 * | filtered   | something            | delete | delete with what was stored                            |
 * | DELETED    | anything, or nothing | delete | delete with the final state                            |
 * | replace    | the old content      | all    | first all deletions (not observed), then adds and      |
 * |            |                      | new    | updates; nothing for what did not change               |
 *
 * What only the answer to an own write has shown is deleted by a replace that lacks it, too.
 *
 * Guarantees: the store is changed before the first handler is called. A first content shows at once; a later one replaces it in
 * slices between which the event loop turns, and so are handlers called; nothing else is applied or notified meanwhile. While a
 * list is collected, an object that did not change is the stored one again: there is no second copy. No handler is called
 * once `stopped` is true.
 */
import { copyJson } from '../api/json.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../log/logger.ts';
import { createBudget } from './budget.ts';
import type { Change, ServerObject } from './decode/watch-event.ts';
import type { Doubts } from './doubts.ts';
import { type Changed, type Difference, everythingNew, isSameObject, isSameVersion, mergeInto } from './difference.ts';
import type { Notification } from './distributor.ts';
import type { Deletion, Indexers } from './informer.ts';
import { keyOf, type ObjectKey } from './key.ts';
import type { InformerMetrics } from './informer-metrics.ts';
import type { MutationCache, Written } from './mutation-cache.ts';
import type { Sink } from './reflector/sink.ts';
import { compareResourceVersions } from './resource-version.ts';
import { createStore, type Store } from './store.ts';
import type { Prepare } from './transform.ts';
import type { KeyedLock } from '../workqueue/keyed-lock.ts';

export interface ContentDeps<T extends KubeObject> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<InformerMetrics, 'transformFailed'>;
  readonly prepare: Prepare<T>;
  readonly mutations: MutationCache<T>;
  readonly doubts: Pick<Doubts, 'add' | 'deleted'>;
  readonly lock: KeyedLock<'content'>;
  readonly deliver: (notification: Notification<T>) => void;
  readonly stopped: () => boolean;
  /** The handlers have been called for the first replace. */
  readonly onSynced: () => void;
}

export interface Content<T extends KubeObject> extends Omit<Sink, 'setConnection'> {
  store(): Store<T>;
  /** The last version applied: of an object, a bookmark or a list. */
  resourceVersion(): string;
  hasSynced(): boolean;
  addIndexers(indexers: Indexers<T>): void;
  /** Keeps the answer to an own write until the watch has brought it. */
  remember(object: T): void;
  /** A read found that there was no object of that name at this version. `shown` is what a lister shows of it. */
  hide(key: ObjectKey, shown: T | undefined, resourceVersion: string): void;
}

export function createContent<T extends KubeObject>(deps: ContentDeps<T>, indexers: Indexers<T>): Content<T> {
  const { clock, logger, mutations, lock, deliver } = deps;
  let store = createStore(indexers);
  /** Between lists it is unused and empty. */
  const nothing = createStore<T>();
  let collecting = nothing;
  let storeRv = '';
  let hasSynced = false;

  const keyFor = (object: ServerObject): ObjectKey | undefined => {
    try {
      return keyOf(object);
    } catch (error) {
      logger.error(error, 'Unexpected object, skipped');
      return undefined;
    }
  };

  const prepare = (key: ObjectKey, object: ServerObject): Prepared<T> => {
    try {
      return deps.prepare(object) ?? filtered;
    } catch (error) {
      deps.metrics.transformFailed();
      logger.error(error, 'A transform failed; the object stays as it was', { key });
      return failed;
    }
  };

  const notifyDeletion = (gone: Omit<Deletion<T>, 'observed'>, how: 'observed' | 'inferred'): void => {
    deps.doubts.deleted(gone.key, gone.object);
    deliver({ kind: 'delete', deletion: { ...gone, observed: how === 'observed' } });
  };
  const notifyChange = (previous: T | undefined, current: T): void => {
    if (previous === undefined) deliver({ kind: 'add', object: current, isInInitialList: !hasSynced });
    else deliver({ kind: 'update', previous, current });
  };

  const set = (key: ObjectKey, current: T): void => {
    const previous = store.objects.get(key);
    if (previous !== undefined && isSameVersion(previous, current)) return;
    store.set(key, current);
    if (previous === undefined || isSameObject(previous, current)) {
      notifyChange(previous, current);
    } else {
      notifyDeletion({ key, object: previous, stored: previous }, 'inferred');
      notifyChange(undefined, current);
    }
  };

  const unset = (key: ObjectKey, final: T | undefined): void => {
    const stored = store.objects.get(key);
    const last = final ?? stored;
    store.delete(key);
    if (last !== undefined) notifyDeletion({ key, object: last, stored }, 'observed');
  };

  const applyNow = ({ type, object }: Change): void => {
    const key = deps.stopped() ? undefined : keyFor(object);
    if (key === undefined) return;
    const resourceVersion = rvOf(object);
    if (resourceVersion !== '') storeRv = resourceVersion;
    const current = prepare(key, object);
    if (type === 'DELETED') {
      mutations.deleted(key, object);
      unset(key, typeof current === 'string' ? undefined : current);
    } else if (current !== failed) {
      mutations.caughtUp(key, resourceVersion);
      if (current === filtered) unset(key, undefined);
      else set(key, current);
    }
  };

  const notifyDifference = async ({ deleted, changed }: Difference<T>): Promise<void> => {
    const budget = createBudget(clock);
    for (const [key, object] of deleted) {
      if (deps.stopped()) return;
      notifyDeletion({ key, object, stored: object }, 'inferred');
      await budget.spend();
    }
    for (const { previous, current } of changed) {
      if (deps.stopped()) return;
      notifyChange(previous, current);
      await budget.spend();
    }
    if (hasSynced || deps.stopped()) return;
    hasSynced = true;
    deps.onSynced();
  };

  /** What only answers to own writes have shown, and neither they nor the store show any more. */
  const goneUnseen = (written: readonly (readonly [ObjectKey, Written<T>])[]): readonly (readonly [ObjectKey, T])[] =>
    written.flatMap(([key, { object }]) => {
      const last = object();
      const isShown = last === undefined || store.objects.get(key) !== undefined || mutations.pending().has(key);
      return isShown ? [] : [[key, last] as const];
    });

  /** What a lister shows again, or may have to, although the store has not changed. In the second case it is in doubt. */
  const undoneBy = (list: string): readonly Changed<T>[] =>
    [...mutations.pending()].flatMap(([key, { object: written }]) => {
      const current = store.objects.get(key);
      const found = current === undefined ? 'kept' : mutations.compare(key, { list, object: rvOf(current) });
      if (current === undefined || found === 'kept') return [];
      if (found === 'open') deps.doubts.add(key, current);
      return [{ previous: written(), current }];
    });

  /** The collection becomes visible: the first one all at once, a later one in slices. */
  const commit = async (): Promise<Difference<T>> => {
    const collected = collecting;
    collecting = nothing;
    if (store.objects.size > 0) return await mergeInto(store, collected.objects, createBudget(clock));
    store = collected;
    return everythingNew(store);
  };

  return {
    store: () => store,
    resourceVersion: () => storeRv,
    hasSynced: () => hasSynced,
    addIndexers(added) {
      store.addIndexers(added);
      // A first content becomes the store; a later one is merged into it, and has indexes that are not used.
      collecting.addIndexers(added);
    },
    remember(object) {
      const key = keyOf(object);
      const resourceVersion = rvOf(object);
      const stored = store.objects.get(key);
      const uid = object.metadata?.uid;
      if (isRemoved(object)) {
        const shown = mutations.pending().get(key) ?? stored?.metadata;
        if (shown !== undefined && shown.uid === uid)
          mutations.remember(key, { object: () => undefined, uid, resourceVersion, until: 'passed' });
        return;
      }
      // An object that the watch has passed is either stored or deleted again.
      const passed = (compareResourceVersions(storeRv, resourceVersion) ?? -1) >= 0;
      if (passed || (stored !== undefined && isSameVersion(stored, object))) return;
      let current: Prepared<T> | undefined;
      const visible = (): T | undefined => {
        // The caller keeps its object; this copy becomes one of the cache.
        current ??= prepare(key, copyJson(object) as KubeObject as ServerObject);
        if (current !== failed) return current === filtered ? undefined : current;
        const unreadable = mutations.pending().get(key);
        if (unreadable?.object === visible) mutations.forget(key, unreadable);
        return store.objects.get(key);
      };
      mutations.remember(key, { object: visible, uid, resourceVersion, until: 'reached' });
    },
    hide(key, shown, resourceVersion) {
      // One that was made since is there.
      if (shown === undefined || (compareResourceVersions(rvOf(shown), resourceVersion) ?? -1) > 0) return;
      const uid = shown.metadata?.uid;
      mutations.remember(key, { object: () => undefined, uid, resourceVersion, until: 'passed' });
    },
    startCollecting() {
      // The first content is indexed while it arrives; later ones are merged into what is indexed already.
      collecting = store.objects.size === 0 ? store.emptyCopy() : createStore();
    },
    collect({ type, object }) {
      const key = keyFor(object);
      if (key === undefined) return;
      const stored = store.objects.get(key);
      if (type === 'DELETED') {
        collecting.delete(key);
      } else if (stored !== undefined && isSameVersion(stored, object)) {
        collecting.set(key, stored);
      } else {
        const current = prepare(key, object);
        if (current === filtered) collecting.delete(key);
        else if (current !== failed) collecting.set(key, current);
        else if (stored !== undefined) collecting.set(key, stored);
      }
    },
    replace: (resourceVersion) =>
      lock.run('content', async () => {
        const unseen = [...mutations.pending()].filter(([key]) => store.objects.get(key) === undefined);
        const difference = await commit();
        storeRv = resourceVersion;
        const undone = undoneBy(resourceVersion);
        for (const key of mutations.pending().keys()) {
          const object = store.objects.get(key);
          mutations.caughtUp(key, object === undefined ? resourceVersion : rvOf(object));
        }
        await notifyDifference({
          deleted: [...difference.deleted, ...goneUnseen(unseen)],
          changed: undone.length === 0 ? difference.changed : [...difference.changed, ...undone],
        });
      }),
    apply(change) {
      if (lock.isHeld('content')) return lock.run('content', () => applyNow(change));
      applyNow(change);
      return undefined;
    },
    bookmark(resourceVersion) {
      if (resourceVersion !== '') storeRv = resourceVersion;
    },
  };
}

type Prepared<T> = T | typeof filtered | typeof failed;
const filtered = 'filtered';
/** The stored state of the object stays as it is. */
const failed = 'failed';

/** The server's own rule: an update that leaves an object like this is its end. */
function isRemoved({ metadata }: KubeObject): boolean {
  return (
    metadata?.deletionTimestamp !== undefined &&
    (metadata.finalizers ?? []).length === 0 &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0
  );
}

function rvOf(object: KubeObject): string {
  return object.metadata?.resourceVersion ?? '';
}
