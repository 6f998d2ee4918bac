// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { aVolume, FakeClock, recordingLogger } from '../../testing/index.ts';
import type { PersistentVolume } from '../api/objects.ts';
import type { Indexers } from './informer.ts';
import { keyOf } from './key.ts';
import { createLister } from './lister.ts';
import { createMutationCache } from './mutation-cache.ts';
import { createStore } from './store.ts';

const named = (name: string, namespace: string) => aVolume(name, '1', { namespace });
const namesOf = (objects: readonly PersistentVolume[]) => objects.map(({ metadata }) => metadata?.name);
const byNamespace: Indexers<PersistentVolume> = { namespace: ({ metadata }) => [metadata?.namespace ?? ''] };

/** Three objects in two namespaces. */
function filled(indexers: Indexers<PersistentVolume> = {}) {
  const logger = recordingLogger();
  const store = createStore<PersistentVolume>(indexers);
  const mutations = createMutationCache<PersistentVolume>(new FakeClock());
  for (const object of [named('x-0', 'ns-0'), named('x-1', 'ns-1'), named('x-2', 'ns-0')])
    store.set(keyOf(object), object);
  const lister = createLister({ content: { store: () => store, resourceVersion: () => '7' }, mutations, logger });
  const write = (object: PersistentVolume) =>
    mutations.remember(keyOf(object), { object: () => object, uid: 'u', resourceVersion: '2', until: 'reached' });
  return { logger, store, mutations, lister, write };
}

describe('lister', () => {
  it('[runtime#107] given no namespace index, then a list by namespace is right all the same, with one warning', () => {
    const { lister, logger, write } = filled();
    expect(namesOf(lister.list('ns-0'))).toEqual(['x-0', 'x-2']);
    write(named('x-3', 'ns-1'));
    expect(namesOf(lister.list('ns-1'))).toEqual(['x-1', 'x-3']);
    const message = 'Listing by namespace without the index `namespace` reads the whole cache';
    expect(logger.lines).toEqual([{ kind: 'warn', message, facts: { namespace: 'ns-0' } }]);
  });

  it('given a namespace index, then a list by namespace is read from it, with own writes and without a warning', () => {
    const { lister, logger, write } = filled(byNamespace);
    write(named('x-3', 'ns-0'));
    expect(namesOf(lister.list('ns-0'))).toEqual(['x-0', 'x-2', 'x-3']);
    expect(namesOf(lister.list('ns-1'))).toEqual(['x-1']);
    expect(logger.lines).toEqual([]);
  });

  it('given an own write that the watch has not brought, when two indexes are read again and again, then each index function sees it once', () => {
    const seen: string[] = [];
    const recorded = (index: string, values: readonly string[]) => ({
      [index]: ({ metadata }: PersistentVolume) => {
        if (metadata?.name === 'x-3') seen.push(index);
        return values;
      },
    });
    const { lister, write } = filled({ ...recorded('a', ['1']), ...recorded('b', ['2']) });
    write(named('x-3', 'ns-0'));
    const read = () => [lister.byIndex('a', '1'), lister.byIndex('b', '1'), lister.byIndex('b', '2')].map(namesOf);
    const all = ['x-0', 'x-1', 'x-2', 'x-3'];
    expect([read(), read()]).toEqual([
      [all, [], all],
      [all, [], all],
    ]);
    expect(seen).toEqual(['a', 'b']);
  });

  it('given an own write that is replaced by another one, and then reached by the watch, then an index shows each state under its own value', () => {
    const { lister, store, mutations, write } = filled(byNamespace);
    const labelled = (label: string) => aVolume('x-3', label, { labels: { tier: label } });
    const tiers = () => ['1', '2'].map((tier) => namesOf(lister.byIndex('tier', tier)));
    const rows: unknown[] = [];
    write(labelled('1'));
    expect(namesOf(lister.list(''))).toContain('x-3');
    expect(namesOf(lister.byIndex('namespace', ''))).toEqual(['x-3']);
    expect(() => tiers()).toThrow('Index with name tier does not exist');
    store.addIndexers({ tier: ({ metadata }) => [metadata?.labels?.['tier'] ?? ''] });
    rows.push(tiers());
    write(labelled('2'));
    rows.push(tiers());
    mutations.caughtUp(keyOf(labelled('2')), '2');
    rows.push(tiers());
    expect(rows).toEqual([
      [['x-3'], []],
      [[], ['x-3']],
      [[], []],
    ]);
  });

  it('given no namespace or an empty one, then everything is listed', () => {
    const { lister } = filled(byNamespace);
    expect([lister.list(), lister.list('')].map(namesOf)).toEqual([
      ['x-0', 'x-1', 'x-2'],
      ['x-0', 'x-1', 'x-2'],
    ]);
    expect([lister.size, lister.resourceVersion]).toEqual([3, '7']);
  });

  it('given an index that does not exist, then reading it is an error', () => {
    expect(() => filled().lister.byIndex('nope', 'x')).toThrow('Index with name nope does not exist');
  });
});
