// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { aVolume, FakeClock, ScriptedBody, ScriptedCollection, seededRandom, settle } from '../../testing/index.ts';
import { nodes, persistentVolumes } from '../api/resource.ts';
import { silentLogger } from '../log/logger.ts';
import { createInformerFactory } from './factory.ts';

const end = { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } };

function setUp() {
  const clock = new FakeClock();
  const api = new ScriptedCollection(clock);
  const factory = createInformerFactory({ client: api, clock, random: seededRandom(1), logger: silentLogger });
  return { clock, api, factory, stop: new AbortController() };
}

describe('informer factory', () => {
  it('given the same collection asked for twice, then there is one informer, with the indexes of both', () => {
    const { factory } = setUp();
    const first = factory.informer({ resource: persistentVolumes, indexers: { a: () => [] } });
    const second = factory.informer({ resource: persistentVolumes, indexers: { a: () => [], b: () => [] } });
    expect(second).toBe(first);
    expect(first.lister.byIndex('b', 'x')).toEqual([]);
  });

  it.each([
    { namespace: 'ns' },
    { labelSelector: 'a=b' },
    { fieldSelector: 'a=b' },
    { content: 'metadata' as const },
    { transform: { id: 'projection', apply: () => undefined } },
  ])('given another selection %j, then it is another informer', (selection) => {
    const { factory } = setUp();
    const whole = factory.informer({ resource: persistentVolumes });
    const selected = factory.informer({ resource: persistentVolumes, ...selection });
    expect(selected).not.toBe(whole);
    expect(factory.informer({ resource: persistentVolumes, ...selection })).toBe(selected);
  });

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

  it('given a shutdown, then all informers end, and new ones and new starts are refused', async () => {
    const { clock, factory, stop } = setUp();
    factory.informer({ resource: persistentVolumes });
    const running = factory.start(stop.signal);
    await settle();
    await factory.shutdown();
    await running;
    expect(clock.pending).toBe(0);
    expect(() => factory.informer({ resource: nodes })).toThrow('was shut down');
    await expect(factory.start(stop.signal)).rejects.toThrow('was shut down');
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
