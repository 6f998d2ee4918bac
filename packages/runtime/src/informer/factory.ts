// SPDX-License-Identifier: Apache-2.0
/**
 * One informer per collection, shared by all who need it: the same resource, namespace, selectors, content and transform
 * yield the same informer, so a process holds one copy and one watch of each.
 */
import type { KubeObject } from '../api/objects.ts';
import { linkSignals } from '../clock/deadline.ts';
import { createInformer, type InformerDeps, type InformerOptions } from './create-informer.ts';
import type { Informer } from './informer.ts';

export interface InformerFactory {
  /**
   * The informer of that collection, created when it is asked for first. Indexers that it does not have yet are added; the
   * resync period, page size and frame limit are those of the first caller. Throws after `shutdown`.
   */
  informer<T extends KubeObject>(options: InformerOptions<T>): Informer<T>;
  /**
   * Starts what is not running yet, until the signal aborts or the factory shuts down. Resolves when what it started has
   * ended; rejects with the first defect, so it must not be ignored. May be called again for informers that came later.
   */
  start(signal: AbortSignal): Promise<void>;
  /** Whether all started informers have synced: true once they have, false if the signal aborts first. */
  waitForSync(signal: AbortSignal): Promise<boolean>;
  /** Ends all informers, waits for them, and refuses new ones. */
  shutdown(): Promise<void>;
}

interface Entry {
  readonly informer: Informer<KubeObject>;
  readonly indexes: Set<string>;
}

export function createInformerFactory(deps: InformerDeps): InformerFactory {
  const entries = new Map<string, Entry>();
  const runs = new Map<Entry, Promise<void>>();
  const lifetime = new AbortController();

  const run = async (entry: Entry, signal: AbortSignal): Promise<void> => {
    using linked = linkSignals([signal, lifetime.signal]);
    await entry.informer.run(linked.signal);
  };

  const factory: InformerFactory = {
    informer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
      if (lifetime.signal.aborted) throw new Error('the informer factory was shut down');
      const id = identityOf(options);
      const known = entries.get(id);
      const indexers = options.indexers ?? {};
      if (known === undefined) {
        const informer = createInformer(
          deps,
          options,
          options.dependsOn?.((other) => factory.informer(other)),
        );
        const entry = {
          informer: informer as unknown as Informer<KubeObject>,
          indexes: new Set(Object.keys(indexers)),
        };
        entries.set(id, entry);
        return informer;
      }
      const informer = known.informer as unknown as Informer<T>;
      const added = Object.entries(indexers).filter(([name]) => !known.indexes.has(name));
      informer.addIndexers(Object.fromEntries(added));
      for (const [name] of added) known.indexes.add(name);
      return informer;
    },
    async start(signal) {
      if (lifetime.signal.aborted) throw new Error('the informer factory was shut down');
      const started = [...entries.values()].filter((entry) => !runs.has(entry));
      await Promise.all(
        started.map((entry) => {
          const running = run(entry, signal);
          runs.set(entry, running);
          return running;
        }),
      );
    },
    async waitForSync(signal) {
      const synced = await Promise.all([...runs.keys()].map(({ informer }) => informer.whenSynced(signal)));
      return synced.every(Boolean);
    },
    async shutdown() {
      lifetime.abort(new Error('the informer factory was shut down'));
      await Promise.allSettled(runs.values());
    },
  };
  return factory;
}

function identityOf<T extends KubeObject>(options: InformerOptions<T>): string {
  const { resource, namespace = '', labelSelector = '', fieldSelector = '', transform, content = 'full' } = options;
  const { group, version, plural } = resource;
  const parts = [group, version, plural, namespace, labelSelector, fieldSelector, transform?.id ?? '', content];
  return JSON.stringify(parts);
}
