// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import {
  aVolume,
  FakeClock,
  recordCallsTo,
  ScriptedBody,
  ScriptedCollection,
  seededRandom,
  settle,
} from '../../testing/index.ts';
import type { PersistentVolume } from '../api/objects.ts';
import { nodes, persistentVolumes } from '../api/resource.ts';
import { silentLogger } from '../log/logger.ts';
import type { InformerOptions } from './create-informer.ts';
import { createInformerFactory } from './factory.ts';
import { createInformerHub } from './shared/hub.ts';

const end = { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } };

function setUp(kind: 'its own' | 'shared' = 'its own') {
  const clock = new FakeClock();
  const api = new ScriptedCollection(clock);
  const deps = { client: api, clock, random: seededRandom(1), logger: silentLogger };
  const factory = kind === 'shared' ? createInformerHub(deps).factoryFor('one') : createInformerFactory(deps);
  return { clock, api, factory, stop: new AbortController() };
}

describe.each(['its own', 'shared'] as const)('informer factory, informers: %s', (kind) => {
  it('given the same collection asked for twice, then there is one informer, with the indexes of both', () => {
    const { factory } = setUp(kind);
    const first = factory.informer({ resource: persistentVolumes, indexers: { a: () => [] } });
    const second = factory.informer({ resource: persistentVolumes, indexers: { a: () => [], b: () => [] } });
    expect(second).toBe(first);
    expect(factory.informer({ resource: persistentVolumes, indexers: { b: () => [] } })).toBe(first);
    expect(first.lister.byIndex('b', 'x')).toEqual([]);
  });

  it.each([
    { namespace: 'ns' },
    { labelSelector: 'a=b' },
    { fieldSelector: 'a=b' },
    { content: 'metadata' as const },
    { transform: { id: 'projection', apply: () => undefined } },
    { resource: { ...persistentVolumes, group: 'example.com' } },
    { resource: { ...persistentVolumes, version: 'v2' } },
  ])('given another selection %j, then it is another informer', (selection) => {
    const { factory } = setUp(kind);
    const whole = factory.informer({ resource: persistentVolumes });
    const selected = factory.informer({ resource: persistentVolumes, ...selection });
    expect(selected).not.toBe(whole);
    expect(factory.informer({ resource: persistentVolumes, ...selection })).toBe(selected);
  });

  it('given a selection that spells out what is the default, then it is the same informer', () => {
    const { factory } = setUp(kind);
    const selection = { namespace: '', labelSelector: '', fieldSelector: '', content: 'full' } as const;
    const whole = factory.informer({ resource: persistentVolumes });
    expect(factory.informer({ resource: persistentVolumes, ...selection })).toBe(whole);
  });

  it('given a shutdown, then all informers have ended after it, and new ones and new starts are refused', async () => {
    const { api, clock, factory, stop } = setUp(kind);
    factory.informer({ resource: persistentVolumes });
    const running = factory.start(stop.signal);
    await settle();
    expect(clock.pending).toBeGreaterThan(0);
    await factory.shutdown();
    expect(clock.pending).toBe(0);
    const reasons = {
      'its own': 'the informer factory was shut down',
      shared: 'no controller reads the informer any more',
    };
    expect(api.requests[0]!.signal.reason).toEqual(new Error(reasons[kind]));
    await running;
    expect(() => factory.informer({ resource: nodes })).toThrow('the informer factory was shut down');
    await expect(factory.start(stop.signal)).rejects.toThrow('the informer factory was shut down');
  });

  it('given two informers, then waiting for them is over with the last one, and fails when the signal aborts before', async () => {
    const { api, factory, stop } = setUp(kind);
    factory.informer({ resource: persistentVolumes });
    factory.informer({ resource: nodes });
    const second = new ScriptedBody();
    api.answers(new ScriptedBody().event('BOOKMARK', end), second);
    void factory.start(stop.signal);
    await settle();
    const waiting = new AbortController();
    const aborted = factory.waitForSync(waiting.signal);
    waiting.abort();
    expect(await aborted).toBe(false);
    const complete = factory.waitForSync(stop.signal);
    second.event('BOOKMARK', end);
    expect(await complete).toBe(true);
    await factory.shutdown();
  });
});

describe('an informer that depends on another one', () => {
  const onNodes = (keeps: (volume: PersistentVolume) => boolean): InformerOptions<PersistentVolume> => ({
    resource: persistentVolumes,
    dependsOn: (informerOf) => {
      const others = informerOf({ resource: nodes });
      return {
        whenSynced: (signal) => others.whenSynced(signal),
        keep: (volume) => (keeps(volume) ? volume : undefined),
      };
    },
  });

  it('given a first list, then it is asked for when the other one has synced, and only what is kept is stored and reported', async () => {
    const { api, factory, stop } = setUp();
    const wanted = new Set(['a', 'c']);
    const informer = factory.informer(onNodes(({ metadata }) => wanted.has(metadata?.name ?? '')));
    const received = () => ({ received: informer.progress?.received });
    const calls: string[] = [];
    informer.addHandler(recordCallsTo(calls));
    const [others, body] = [new ScriptedBody(), new ScriptedBody()];
    api.answers(others, body);
    const running = factory.start(stop.signal);
    await settle();
    expect(api.requests.map(({ path }) => path.split('?')[0])).toEqual(['/api/v1/nodes']);
    expect(received()).toEqual({ received: undefined });
    others.event('BOOKMARK', end);
    await settle();
    expect(api.requests).toHaveLength(2);
    expect(received()).toEqual({ received: 0 });
    for (const name of ['a', 'b']) body.event('ADDED', aVolume(name, '1'));
    body.event('BOOKMARK', end);
    await settle();
    wanted.delete('a');
    for (const name of ['a', 'b', 'c']) body.event('MODIFIED', aVolume(name, '10'));
    await settle();
    expect(calls).toEqual(['add a@1 initial', 'delete a@1', 'add c@10']);
    expect(informer.lister.list().map(({ metadata }) => metadata?.name)).toEqual(['c']);
    stop.abort();
    await running;
  });

  it('given a stop while it waits, then it ends without a request', async () => {
    const { api, factory, stop } = setUp();
    factory.informer(onNodes(() => true));
    api.answers(new ScriptedBody());
    const running = factory.start(stop.signal);
    await settle();
    stop.abort();
    await running;
    expect(api.requests).toHaveLength(1);
  });

  it('given controllers that share it, then it keeps what its transform keeps', async () => {
    const { api, factory, stop } = setUp('shared');
    const informer = factory.informer(onNodes(() => false));
    api.answers(new ScriptedBody().event('ADDED', aVolume('a', '1')).event('BOOKMARK', end));
    void factory.start(stop.signal);
    expect(await factory.waitForSync(stop.signal)).toBe(true);
    expect(informer.lister.size).toBe(1);
    await factory.shutdown();
  });
});

describe('informer factory', () => {
  it('given several starts, then each informer runs once, and waiting covers what was started', async () => {
    const { api, factory, stop } = setUp();
    factory.informer({ resource: persistentVolumes });
    api.answers(new ScriptedBody().event('ADDED', aVolume('a', '1')).event('BOOKMARK', end));
    const first = factory.start(stop.signal);
    factory.informer({ resource: nodes });
    expect(await factory.waitForSync(stop.signal)).toBe(true);
    const second = factory.start(stop.signal);
    await settle();
    expect(api.requests.map(({ path }) => path.split('?')[0])).toEqual(['/api/v1/persistentvolumes', '/api/v1/nodes']);
    const waiting = factory.waitForSync(stop.signal);
    stop.abort();
    expect(await waiting).toBe(false);
    await Promise.all([first, second]);
  });

  it('given a defect in one informer, then the start that began it rejects', async () => {
    const { api, factory, stop } = setUp();
    const indexers = {
      bad: () => {
        throw new Error('defect');
      },
    };
    factory.informer({ resource: persistentVolumes, indexers });
    api.answers(new ScriptedBody().event('ADDED', aVolume('a', '1')));
    await expect(factory.start(stop.signal)).rejects.toThrow('index function "bad" failed for "a"');
  });
});
