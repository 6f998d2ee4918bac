// SPDX-License-Identifier: Apache-2.0
/**
 * An informer factory over objects that are given: the same stores, indexes, transforms and handlers as those of the informers that watch,
 * and no watch. `start` shows all objects at once, as a first list does.
 */
import { copyJson } from '../api/json.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Resource } from '../api/resource.ts';
import { createContent } from '../informer/content.ts';
import type { InformerDeps, InformerOptions } from '../informer/create-informer.ts';
import type { ServerObject } from '../informer/decode/watch-event.ts';
import { createDistributor } from '../informer/distributor.ts';
import { createDoubts } from '../informer/doubts.ts';
import type { InformerFactory } from '../informer/factory.ts';
import type { Informer } from '../informer/informer.ts';
import { createLister } from '../informer/lister.ts';
import { createMutationCache } from '../informer/mutation-cache.ts';
import { createPrepare } from '../informer/transform.ts';
import { createKeyedLock } from '../workqueue/keyed-lock.ts';
import { isSelected } from './selection.ts';
import type { KnownObjects } from './world.ts';

type FixedDeps = Pick<InformerDeps, 'clock' | 'logger'>;

interface FixedInformer<T extends KubeObject> extends Informer<T> {
  fill(): Promise<void>;
}

export function createFixedInformers(deps: FixedDeps, known: readonly KnownObjects[]): InformerFactory {
  const informers: FixedInformer<KubeObject>[] = [];
  return {
    // Loops share nothing by asking for the same collection twice: neither copy ever changes.
    informer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
      const informer = createFixedInformer(deps, options, objectsOf(known, options.resource));
      informers.push(informer);
      return informer;
    },
    async start() {
      for (const informer of informers) await informer.fill();
    },
    waitForSync: () => Promise.resolve(true),
    shutdown: () => Promise.resolve(),
  };
}

function objectsOf<T extends KubeObject>(known: readonly KnownObjects[], wanted: Resource<T>): readonly T[] {
  const isWanted = ({ resource: { group, plural } }: KnownObjects): boolean =>
    group === wanted.group && plural === wanted.plural;
  return known.filter(isWanted).flatMap(({ objects }) => objects as readonly T[]);
}

function createFixedInformer<T extends KubeObject>(
  { clock, logger }: FixedDeps,
  options: InformerOptions<T>,
  objects: readonly T[],
): FixedInformer<T> {
  const { resource, transform, indexers = {} } = options;
  const mutations = createMutationCache<T>(clock);
  const doubts = createDoubts();
  const distributor = createDistributor<T>(logger, { handlerFailed: () => undefined });
  const content = createContent<T>(
    {
      clock,
      logger,
      metrics: { transformFailed: () => undefined },
      prepare: createPrepare({ resource, transform, objects: 'plain' }),
      mutations,
      doubts,
      lock: createKeyedLock<'content'>(),
      deliver: (notification) => distributor.deliver(notification),
      stopped: () => false,
      onSynced: () => undefined,
    },
    indexers,
  );
  return {
    lister: createLister<T>({ content, mutations, logger }),
    get hasSynced() {
      return content.hasSynced();
    },
    addHandler(handler) {
      const subscriber = distributor.subscribe(handler, 'live');
      return { hasSynced: true, remove: () => distributor.remove(subscriber) };
    },
    addIndexers: (added) => content.addIndexers(added),
    whenSynced: () => Promise.resolve(true),
    remember: (object) => content.remember(object),
    // Only writes leave doubts, and there are none.
    doubt: () => undefined,
    doubted: doubts,
    confirm: () => Promise.resolve(),
    run: () => Promise.resolve(),
    async fill() {
      content.startCollecting();
      for (const object of objects) {
        if (object.metadata === undefined || !isSelected(object, options)) continue;
        content.collect({ type: 'ADDED', object: copyJson(object) as KubeObject as ServerObject });
      }
      await content.replace('');
    },
  };
}
