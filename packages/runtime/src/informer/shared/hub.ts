// SPDX-License-Identifier: Apache-2.0
/**
 * One informer for each collection of a process with several controllers, which watch different parts of its objects. The informer
 * keeps the union of what its readers keep; each of them has a view with its own objects.
 *
 * An informer begins with the first controller that runs and reads it, and ends with the last one; then its content is dropped. What
 * any controller will read is announced before, because an informer cannot keep more than it was made for: a reader that was not
 * announced, or came after its informer had begun, gets a second one. A reader whose index function throws fails alone.
 *
 * The watch of an informer that runs may have been silent for minutes when another controller begins, so the informer then lists again.
 */
import type { KubeObject } from '../../api/objects.ts';
import type { Clock } from '../../clock/clock.ts';
import {
  createInformer,
  type InformerDeps,
  type InformerOptions,
  type RefreshableInformer,
} from '../create-informer.ts';
import type { InformerFactory } from '../factory.ts';
import type { Informer } from '../informer.ts';
import type { Transform } from '../transform.ts';
import { keepersOf, mostTransforms, unionOf } from './union.ts';
import { createView, type View } from './view.ts';

export interface InformerHub {
  announce(options: readonly InformerOptions<KubeObject>[]): void;
  /** Informers for one run of a controller. `owner` is its name, the same in every run. */
  factoryFor(owner: string): InformerFactory;
}

/** Objects of one resource, namespace and selector. */
interface Collection {
  /** By the ids of their transforms; the whole object has the empty id. */
  readonly readers: Map<string, Reader>;
  readonly informers: Set<Shared>;
}

interface Reader {
  readonly transform: Transform<KubeObject> | undefined;
  resyncMs: number;
}

/** A running informer, or one that will be started. */
interface Shared {
  readonly informer: RefreshableInformer<KubeObject>;
  /** The places of the transforms in the union. */
  readonly places: ReadonlyMap<string, number>;
  readonly lifetime: AbortController;
  running: Promise<void> | undefined;
  users: number;
  /** Owners whose indexes are incomplete, because one of their functions has thrown. */
  readonly failedFor: Set<string>;
}

export function createInformerHub(deps: InformerDeps): InformerHub {
  const collections = new Map<string, Collection>();

  const collectionOf = (options: InformerOptions<KubeObject>): Collection => {
    const id = collectionId(options);
    let found = collections.get(id);
    if (found === undefined) collections.set(id, (found = { readers: new Map(), informers: new Set() }));
    return found;
  };

  const announce = (options: InformerOptions<KubeObject>): Collection => {
    const { transform, resyncMs = 0 } = options;
    const collection = collectionOf(options);
    const known = collection.readers.get(readerId(options));
    if (known === undefined) collection.readers.set(readerId(options), { transform, resyncMs });
    else known.resyncMs = shortest([known.resyncMs, resyncMs]);
    return collection;
  };

  const sharedFor = (options: InformerOptions<KubeObject>, owner: string): Used => {
    const from = announce(options);
    const id = readerId(options);
    for (const shared of from.informers) {
      if (shared.places.has(id) && !shared.failedFor.has(owner)) return { shared, from };
    }
    const isFirst = from.informers.size === 0 && from.readers.size <= mostTransforms;
    const readers = isFirst ? [...from.readers] : [...from.readers].filter(([reader]) => reader === id);
    const shared = create(options, readers);
    from.informers.add(shared);
    return { shared, from };
  };

  const create = (options: InformerOptions<KubeObject>, readers: readonly (readonly [string, Reader])[]): Shared => {
    const { transform: _t, dependsOn: _d, indexers: _i, resyncMs: _r, ...collection } = options;
    const [only] = readers;
    const transform =
      readers.length === 1 ? only?.[1].transform : unionOf(readers.map(([, reader]) => reader.transform));
    const resyncMs = shortest(readers.map(([, reader]) => reader.resyncMs));
    return {
      informer: createInformer(deps, {
        ...collection,
        resyncMs,
        ...(transform === undefined ? {} : { transform }),
      }),
      places: new Map(readers.map(([id], place) => [id, place])),
      lifetime: new AbortController(),
      running: undefined,
      users: 0,
      failedFor: new Set(),
    };
  };

  return {
    announce: (all) => {
      for (const options of all) announce(options);
    },
    factoryFor: (owner) => createFactory(owner, deps.clock, (options) => sharedFor(options, owner)),
  };
}

interface Used {
  readonly shared: Shared;
  readonly from: Collection;
}

function createFactory(
  owner: string,
  clock: Clock,
  sharedFor: (options: InformerOptions<KubeObject>) => Used,
): InformerFactory {
  const views = new Map<string, View<KubeObject>>();
  const used = new Map<Shared, Collection>();
  const toRefresh = new Set<Shared>();
  const defect = Promise.withResolvers<never>();
  // `start` of the factory rejects with it; before that nothing can fail.
  defect.promise.catch(() => undefined);
  let hasEnded = false;

  const refuseAfterEnd = (): void => {
    if (hasEnded) throw new Error('the informer factory was shut down');
  };

  const viewOf = (options: InformerOptions<KubeObject>): View<KubeObject> => {
    const { shared, from } = sharedFor(options);
    if (!used.has(shared)) {
      used.set(shared, from);
      shared.users += 1;
    }
    const place = shared.places.get(readerId(options)) ?? 0;
    const isKept =
      shared.places.size === 1 ? () => true : (object: KubeObject) => (keepersOf(object) & (1 << place)) !== 0;
    const { indexers, resyncMs } = options;
    toRefresh.add(shared);
    return createView(shared.informer, {
      owner,
      isKept,
      onDefect: (error) => {
        shared.failedFor.add(owner);
        defect.reject(error);
      },
      ...(indexers && { indexers }),
      ...(resyncMs && { resyncMs }),
    });
  };

  const run = async (shared: Shared, from: Collection): Promise<void> => {
    try {
      // Those that begin in the same turn share the first list.
      await clock.yieldToLoop();
      await shared.informer.run(shared.lifetime.signal);
    } finally {
      // Whatever reads it next gets another one.
      from.informers.delete(shared);
    }
  };

  return {
    informer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
      refuseAfterEnd();
      const erased = options as unknown as InformerOptions<KubeObject>;
      const id = `${collectionId(erased)} ${readerId(erased)}`;
      let view = views.get(id);
      if (view === undefined) views.set(id, (view = viewOf(erased)));
      else if (erased.indexers !== undefined) view.addIndexers(erased.indexers);
      return view as unknown as Informer<T>;
    },
    async start() {
      refuseAfterEnd();
      for (const { informer } of toRefresh) informer.refresh();
      toRefresh.clear();
      const running = [...used].map(([shared, from]) => (shared.running ??= run(shared, from)));
      await Promise.race([Promise.all(running), defect.promise]);
    },
    async waitForSync(signal) {
      const synced = await Promise.all([...used.keys()].map(({ informer }) => informer.whenSynced(signal)));
      return synced.every(Boolean);
    },
    async shutdown() {
      if (hasEnded) return;
      hasEnded = true;
      for (const view of views.values()) view.leave();
      const ended: Promise<void>[] = [];
      for (const [shared, from] of used) {
        shared.users -= 1;
        if (shared.users > 0) continue;
        from.informers.delete(shared);
        shared.lifetime.abort(new Error('no controller reads the informer any more'));
        if (shared.running !== undefined) ended.push(shared.running);
      }
      await Promise.allSettled(ended);
    },
  };
}

function readerId({ transform }: InformerOptions<KubeObject>): string {
  return transform?.id ?? '';
}

function collectionId(options: InformerOptions<KubeObject>): string {
  const { resource, namespace = '', labelSelector = '', fieldSelector = '', content = 'full' } = options;
  const { group, version, plural } = resource;
  return JSON.stringify([group, version, plural, namespace, labelSelector, fieldSelector, content]);
}

/** 0 stands for none. */
function shortest(periodsMs: readonly number[]): number {
  const some = periodsMs.filter((ms) => ms > 0);
  return some.length === 0 ? 0 : Math.min(...some);
}
