// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import {
  aVolume,
  FakeClock,
  recordingLogger,
  ScriptedBody,
  scriptedInformer,
  recordCallsTo,
} from '../../testing/index.ts';
import { persistentVolumeClaims } from '../api/resource.ts';
import type { PersistentVolume } from '../api/objects.ts';
import { createInformer } from './create-informer.ts';
import type { HandlerRegistration } from './informer.ts';
import { keyOf, toObjectKey } from './key.ts';
import { createLister } from './lister.ts';
import { createMutationCache } from './mutation-cache.ts';
import { createStore } from './store.ts';

const stream = (): ScriptedBody => new ScriptedBody();

describe('handlers', () => {
  it('[runtime#97] given a handler that throws, then the other handlers are still called, and the failure is counted', async () => {
    const { api, informer, metrics, calls, start, stop } = scriptedInformer();
    informer.addHandler({
      add: () => {
        throw new Error('defect');
      },
    });
    const after: string[] = [];
    informer.addHandler(recordCallsTo(after));
    api.answers(stream().event('ADDED', aVolume('a', '1')).bookmark('1', 'end').event('MODIFIED', aVolume('a', '2')));
    await start();
    expect(after).toEqual(['add a@1 initial', 'update a@1->2']);
    expect(calls).toEqual(after);
    expect(metrics.value('informer_handler_errors_total', { name: 'persistentvolumes', selector: '' })).toBe(1);
    await stop();
  });

  it('[runtime#98] given a handler added after the sync, then it gets all objects as initial adds before any live event', async () => {
    const { api, clock, informer, signal, start, stop } = scriptedInformer();
    const watch = stream().event('ADDED', aVolume('a', '1')).event('ADDED', aVolume('b', '2')).bookmark('2', 'end');
    api.answers(watch);
    await start();
    const late: string[] = [];
    const registration = informer.addHandler(recordCallsTo(late));
    expect(registration.hasSynced).toBe(false);
    watch.event('MODIFIED', aVolume('a', '3'));
    expect(await informer.whenSynced(signal)).toBe(true);
    expect(registration.hasSynced).toBe(true);
    await clock.advance(0);
    expect(late).toEqual(['add a@1 initial', 'add b@2 initial', 'update a@1->3']);
    await stop();
  });

  it('given a handler added by a handler in the middle of the first content, then it misses nothing and gets nothing twice', async () => {
    const { api, informer, start, stop } = scriptedInformer();
    const late: string[] = [];
    let added: HandlerRegistration | undefined;
    informer.addHandler({
      add: ({ metadata }) => metadata?.name === 'b' && (added ??= informer.addHandler(recordCallsTo(late))),
    });
    const watch = stream().event('ADDED', aVolume('a', '1')).event('ADDED', aVolume('b', '2')).bookmark('2', 'end');
    api.answers(watch.event('DELETED', aVolume('a', '3')));
    await start();
    expect(late).toEqual(['add a@1 initial', 'add b@2 initial', 'delete a@3']);
    await stop();
  });

  it('given changes during a catch-up that takes several turns, then they wait for it', async () => {
    const { api, clock, informer, calls, start, stop } = scriptedInformer();
    const watch = stream();
    for (let n = 0; n < 1200; n += 1) watch.event('ADDED', aVolume(`pv-${n}`, `${n + 1}`));
    api.answers(watch.bookmark('1200', 'end'));
    await start();
    const late: string[] = [];
    watch.event('DELETED', aVolume('pv-1199', '1201'));
    informer.addHandler(recordCallsTo(late));
    await clock.advance(0);
    expect(late).toHaveLength(1201);
    expect(late[1199]).toBe('add pv-1199@1200 initial');
    expect(late.at(-1)).toBe('delete pv-1199@1201');
    expect(calls.at(-1)).toBe('delete pv-1199@1201');
    await stop();
  });

  it('given a handler that is interested in nothing, then no change is an error', async () => {
    const { api, informer, logger, start, stop } = scriptedInformer();
    informer.addHandler({});
    const watch = stream().event('ADDED', aVolume('a', '1')).bookmark('1', 'end').event('MODIFIED', aVolume('a', '2'));
    api.answers(watch.event('DELETED', aVolume('a', '3')));
    await start();
    expect(logger.messages()).toEqual(['Caches populated']);
    await stop();
  });

  it('[runtime#99] given a handler removed during delivery, then it is not called any more', async () => {
    const { api, informer, start, stop } = scriptedInformer();
    const seen: string[] = [];
    informer.addHandler({ add: ({ metadata }) => metadata?.name === 'b' && second.remove() });
    const second = informer.addHandler(recordCallsTo(seen));
    api.answers(stream().event('ADDED', aVolume('a', '1')).event('ADDED', aVolume('b', '2')).bookmark('2', 'end'));
    await start();
    expect(seen).toEqual(['add a@1 initial']);
    await stop();
  });

  it('given a late handler that is removed before its turn, then it is never called and nothing waits for it', async () => {
    const { api, clock, informer, signal, start, stop } = scriptedInformer();
    api.answers(stream().event('ADDED', aVolume('a', '1')).bookmark('1', 'end'));
    await start();
    const seen: string[] = [];
    informer.addHandler(recordCallsTo(seen)).remove();
    expect(await informer.whenSynced(signal)).toBe(true);
    await clock.advance(0);
    expect(seen).toEqual([]);
    await stop();
  });

  it('[runtime#100] given an update for an unknown key, then it is an add; its deletion is reported with its object', async () => {
    const { api, calls, start, stop } = scriptedInformer();
    api.answers(stream().bookmark('1', 'end').event('MODIFIED', aVolume('a', '2')).event('DELETED', aVolume('b', '3')));
    await start();
    expect(calls).toEqual(['add a@2', 'delete b@3']);
    await stop();
  });

  it('[runtime#101] given ADDED for a known key, then it is an update', async () => {
    const { api, calls, start, stop } = scriptedInformer();
    api.answers(stream().event('ADDED', aVolume('a', '1')).bookmark('1', 'end').event('ADDED', aVolume('a', '2')));
    await start();
    expect(calls).toEqual(['add a@1 initial', 'update a@1->2']);
    await stop();
  });

  it('given an event with a known version, then no handler is called', async () => {
    const { api, calls, start, stop } = scriptedInformer();
    api.answers(stream().event('ADDED', aVolume('a', '1')).bookmark('1', 'end').event('ADDED', aVolume('a', '1')));
    await start();
    expect(calls).toEqual(['add a@1 initial']);
    await stop();
  });

  it('given an event that recreates an object without its deletion, then the old one is deleted and the new one added', async () => {
    const { api, calls, start, stop } = scriptedInformer();
    const watch = stream().event('ADDED', aVolume('a', '1')).bookmark('1', 'end');
    api.answers(watch.event('MODIFIED', aVolume('a', '2', { uid: 'other' })));
    await start();
    expect(calls).toEqual(['add a@1 initial', 'tombstone a@1', 'add a@2']);
    await stop();
  });

  it('given a handler, then the store is changed before the handler is called', async () => {
    const { api, informer, start, stop } = scriptedInformer();
    const key = toObjectKey(undefined, 'a');
    const sizes: (number | undefined)[] = [];
    const look = (): void => void sizes.push(informer.lister.size);
    informer.addHandler({
      add: look,
      update: look,
      delete: () => sizes.push(Number(informer.lister.get(key) !== undefined)),
    });
    const watch = stream().event('ADDED', aVolume('a', '1')).event('ADDED', aVolume('b', '1')).bookmark('1', 'end');
    api.answers(watch.event('DELETED', aVolume('a', '2')));
    await start();
    expect(sizes).toEqual([2, 2, 0]);
    await stop();
  });

  it('given a handler added after the end, then it is refused', async () => {
    const { informer, start, stop } = scriptedInformer();
    await start();
    await stop();
    expect(() => informer.addHandler({})).toThrow('it has stopped already');
  });

  it('given an index function that throws, then the informer ends with the error: a wrong index is silent loss', async () => {
    const clockwork = scriptedInformer({
      indexers: {
        bad: () => {
          throw new Error('defect');
        },
      },
    });
    clockwork.api.answers(stream().event('ADDED', aVolume('a', '1')).bookmark('1', 'end'));
    await expect(clockwork.informer.run(clockwork.signal)).rejects.toThrow('index function "bad" failed for "a"');
    expect(clockwork.clock.pending).toBe(0);
    expect(await clockwork.informer.whenSynced(new AbortController().signal)).toBe(false);
  });
});

describe('lister', () => {
  it('[runtime#103] given a cluster-scoped and a namespaced informer, then their keys do not mix', async () => {
    const volumes = scriptedInformer();
    const claims = createInformer(
      { client: volumes.api, clock: volumes.clock, random: { next: () => 0, uuid: () => '' }, logger: volumes.logger },
      { resource: persistentVolumeClaims },
    );
    const claim = {
      kind: 'PersistentVolumeClaim',
      apiVersion: 'v1',
      metadata: { namespace: 'ns', name: 'a', resourceVersion: '1' },
    };
    volumes.api.answers(stream().event('ADDED', aVolume('a', '1')).bookmark('1', 'end'));
    volumes.api.answers(
      stream()
        .event('ADDED', claim)
        .write(
          `${JSON.stringify({
            type: 'BOOKMARK',
            object: {
              metadata: { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } },
            },
          })}\n`,
        ),
    );
    await volumes.start();
    const running = claims.run(volumes.signal);
    expect(await claims.whenSynced(volumes.signal)).toBe(true);
    expect(volumes.informer.lister.get(toObjectKey(undefined, 'a'))?.kind).toBe('PersistentVolume');
    expect(claims.lister.get(toObjectKey('ns', 'a'))?.kind).toBe('PersistentVolumeClaim');
    expect(claims.lister.get(toObjectKey(undefined, 'a'))).toBeUndefined();
    expect(claims.lister.list('ns')).toHaveLength(1);
    await volumes.stop();
    await running;
  });

  it('[runtime#109] given 500,000 objects, then they can be listed', () => {
    const store = createStore<PersistentVolume>();
    for (let n = 0; n < 500_000; n += 1) {
      const metadata = { namespace: `ns-${n % 2}`, name: `x-${n}` };
      store.set(keyOf({ metadata }), { metadata });
    }
    const content = { store: () => store, resourceVersion: () => '' };
    const lister = createLister({
      content,
      mutations: createMutationCache<PersistentVolume>(new FakeClock()),
      logger: recordingLogger(),
    });
    expect(lister.list()).toHaveLength(500_000);
    expect(lister.list('ns-0')).toHaveLength(250_000);
  });
});
