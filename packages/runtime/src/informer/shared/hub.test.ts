// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import {
  createFakeApiServer,
  FakeClock,
  recordingLogger,
  ScriptedBody,
  ScriptedCollection,
  seededRandom,
  settle,
  syncedStream,
  until,
} from '../../../testing/index.ts';
import { createApiClient } from '../../api/create-client.ts';
import type { PersistentVolume } from '../../api/objects.ts';
import { nodes, persistentVolumes } from '../../api/resource.ts';
import type { Random } from '../../clock/random.ts';
import { type Logger, silentLogger } from '../../log/logger.ts';
import type { InformerOptions } from '../create-informer.ts';
import type { Informer } from '../informer.ts';
import { toObjectKey } from '../key.ts';
import { identityOf } from '../transform.ts';
import { createInformerHub } from './hub.ts';

const key = (name: string) => toObjectKey(undefined, name);

interface SetUp {
  readonly random?: Random;
  readonly logger?: Logger;
  readonly streaming?: 'preferred' | 'off';
}

function setUp({ random = seededRandom(1), logger = silentLogger, streaming = 'preferred' }: SetUp = {}) {
  const clock = new FakeClock();
  const server = createFakeApiServer({ clock, random: seededRandom(1) });
  const client = createApiClient(
    { transport: server.transport, clock, logger: silentLogger },
    { qps: -1, burst: 1, userAgent: 'test' },
  );
  const hub = createInformerHub({ client, clock, random, logger, streaming, objects: 'plain' });
  const watches = () => server.requests.filter(({ verb }) => verb === 'watch').map(({ resource }) => resource);
  const relabel = (name: string, labels: Record<string, string | null>) =>
    client.patch({ resource: persistentVolumes, ref: { name } }, { type: 'merge', body: { metadata: { labels } } });
  return { clock, server, client, hub, watches, relabel };
}

function aVolume(name: string, driver: string, labels: Record<string, string> = {}): PersistentVolume {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, uid: `uid-${name}`, labels },
    spec: { csi: { driver, volumeHandle: `handle-${name}` }, capacity: { storage: '1Gi' } },
  };
}

/** Keeps volumes of a driver, with this field. */
function ofDriver(driver: string, field: 'capacity' | 'accessModes'): InformerOptions<PersistentVolume> {
  return {
    resource: persistentVolumes,
    indexers: { handle: ({ spec }) => [spec?.csi?.volumeHandle ?? ''] },
    transform: {
      id: `${field} of ${driver}`,
      apply: ({ metadata, spec }) =>
        spec?.csi?.driver === driver
          ? { metadata: identityOf(metadata), spec: { csi: spec.csi, [field]: spec[field] } }
          : undefined,
    },
  };
}

/** Keeps labelled volumes, by their names. */
const labelled: InformerOptions<PersistentVolume> = {
  resource: persistentVolumes,
  indexers: { handle: () => ['labelled'] },
  transform: {
    id: 'labelled',
    apply: ({ metadata }) =>
      metadata?.labels?.['mine'] === undefined
        ? undefined
        : { metadata: { ...identityOf(metadata), labels: metadata.labels } },
  },
};

function recorded(informer: Informer<PersistentVolume>): readonly string[] {
  const calls: string[] = [];
  informer.addHandler({
    add: ({ metadata }, { isInInitialList }) => calls.push(`add ${metadata?.name}${isInInitialList ? ' initial' : ''}`),
    update: (_, { metadata }) => calls.push(`update ${metadata?.name}`),
    delete: ({ object, observed }) =>
      calls.push(`delete ${object.metadata?.name} ${observed ? 'observed' : 'inferred'}`),
  });
  return calls;
}

describe('several readers of one kind', () => {
  it('given two readers, then there is one watch, and each sees its own objects with the fields of both', async () => {
    const { server, hub, watches } = setUp();
    server.seed(aVolume('a', 'd'));
    server.seed(aVolume('b', 'other', { mine: 'yes' }));
    server.seed(aVolume('c', 'd', { mine: 'yes' }));
    const options = ofDriver('d', 'capacity');
    hub.announce([options, labelled] as never);
    const [one, two] = [hub.factoryFor('one'), hub.factoryFor('two')];
    const [byDriver, byLabel] = [one.informer(options), two.informer(labelled)];
    const calls = [recorded(byDriver), recorded(byLabel)];
    const signal = new AbortController().signal;
    void one.start(signal);
    void two.start(signal);
    await until(() => byDriver.hasSynced && byLabel.hasSynced);
    expect(watches()).toEqual(['persistentvolumes']);
    expect(calls.map((list) => list.toSorted())).toEqual([
      ['add a initial', 'add c initial'],
      ['add b initial', 'add c initial'],
    ]);
    expect(
      byDriver.lister
        .list()
        .map(({ metadata }) => String(metadata?.name))
        .toSorted(),
    ).toEqual(['a', 'c']);
    expect([byDriver.lister.size, byLabel.lister.size, byDriver.lister.get(key('b'))]).toEqual([2, 2, undefined]);
    // The indexes have one name and different values.
    expect(
      byDriver.lister.byIndex('handle', 'handle-c').length + byDriver.lister.byIndex('handle', 'labelled').length,
    ).toBe(1);
    expect(byLabel.lister.byIndex('handle', 'labelled')).toHaveLength(2);
    expect(byLabel.lister.get(key('c'))).toMatchObject({
      spec: { capacity: { storage: '1Gi' } },
      metadata: { labels: { mine: 'yes' } },
    });
    expect(byLabel.lister.get(key('b'))!.spec).toBeUndefined();
    await one.shutdown();
    // It has no part any more in what goes on for the other.
    await one.shutdown();
    expect(server.openWatches()).toBe(1);
    await two.shutdown();
    expect(server.openWatches()).toBe(0);
  });

  it('given two readers of one controller, then there is one watch, which ends with it', async () => {
    const { server, hub, watches } = setUp();
    server.seed(aVolume('c', 'd', { mine: 'yes' }));
    const options = ofDriver('d', 'capacity');
    hub.announce([options, labelled] as never);
    const one = hub.factoryFor('one');
    const views = [one.informer(options), one.informer(labelled)];
    void one.start(new AbortController().signal);
    await until(() => views.every(({ lister }) => lister.size === 1));
    expect(watches()).toEqual(['persistentvolumes']);
    await one.shutdown();
    expect(server.openWatches()).toBe(0);
  });

  it('given an object that leaves one view, then it is deleted there, and updated in the other', async () => {
    const { server, client, hub, relabel } = setUp();
    server.seed(aVolume('c', 'd', { mine: 'yes' }));
    const options = ofDriver('d', 'capacity');
    hub.announce([options, labelled] as never);
    const [one, two] = [hub.factoryFor('one'), hub.factoryFor('two')];
    const calls = [recorded(one.informer(options)), recorded(two.informer(labelled))];
    void one.start(new AbortController().signal);
    void two.start(new AbortController().signal);
    await until(() => calls.every((list) => list.length === 1));
    await relabel('c', { mine: null });
    await relabel('c', { mine: 'again' });
    await relabel('c', { mine: null, other: 'x' });
    await client.delete(persistentVolumes, { name: 'c' });
    await until(() => calls[0]?.length === 5);
    expect(calls).toEqual([
      ['add c initial', 'update c', 'update c', 'update c', 'delete c observed'],
      ['add c initial', 'delete c observed', 'add c', 'delete c observed'],
    ]);
    await Promise.all([one.shutdown(), two.shutdown()]);
  });

  it('[runtime#110] given a reader that keeps some objects, when one begins to match, changes, ceases to match and changes, then it gets add, update, deletion and nothing', async () => {
    const { server, hub, relabel } = setUp();
    server.seed(aVolume('c', 'd'));
    const options = ofDriver('d', 'capacity');
    hub.announce([options, labelled] as never);
    const [one, two] = [hub.factoryFor('one'), hub.factoryFor('two')];
    const all = recorded(one.informer(options));
    const some = two.informer(labelled);
    const calls: string[] = [];
    const labelsOf = ({ metadata }: PersistentVolume): string => Object.values(metadata?.labels ?? {}).join('+');
    some.addHandler({
      add: (object) => calls.push(`add ${labelsOf(object)}`),
      update: (before, after) => calls.push(`update ${labelsOf(before)} to ${labelsOf(after)}`),
      delete: ({ object }) => calls.push(`delete ${labelsOf(object)}`),
    });
    void one.start(new AbortController().signal);
    void two.start(new AbortController().signal);
    await until(() => all.length === 1);
    await relabel('c', { other: 'before' });
    await relabel('c', { mine: '1' });
    await relabel('c', { mine: '2' });
    await relabel('c', { mine: null });
    await relabel('c', { other: 'after' });
    await until(() => all.length === 6);
    expect(calls).toEqual(['add before+1', 'update before+1 to before+2', 'delete before+2']);
    await Promise.all([one.shutdown(), two.shutdown()]);
  });

  it('given an object whose last state is no longer of a reader, then that reader hears of its end', async () => {
    const clock = new FakeClock();
    const api = new ScriptedCollection(clock);
    const hub = createInformerHub({ client: api, clock, random: seededRandom(1), logger: silentLogger });
    const volume = (resourceVersion: string, labels: Record<string, string>) => {
      const { metadata, ...rest } = aVolume('c', 'd', labels);
      return { ...rest, metadata: { ...metadata, resourceVersion } };
    };
    const end = { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } };
    api.answers(
      new ScriptedBody()
        .event('ADDED', volume('1', { mine: 'yes' }))
        .event('BOOKMARK', end)
        .event('DELETED', volume('10', {})),
    );
    const options = ofDriver('d', 'capacity');
    hub.announce([options, labelled] as never);
    const factories = [hub.factoryFor('one'), hub.factoryFor('two')] as const;
    const calls = [recorded(factories[0].informer(options)), recorded(factories[1].informer(labelled))];
    for (const factory of factories) void factory.start(new AbortController().signal);
    await until(() => calls[0]?.length === 2);
    expect(calls).toEqual([
      ['add c initial', 'delete c observed'],
      ['add c initial', 'delete c observed'],
    ]);
    await Promise.all(factories.map((factory) => factory.shutdown()));
  });
});

describe('the first list of a reader', () => {
  const cached = ofDriver('d', 'capacity');

  it('[runtime#224] given two that begin in one turn, then there is one list, which is current', async () => {
    const set = setUp({ streaming: 'off' });
    set.hub.announce([cached, labelled] as never);
    const factories = ['one', 'two'].map((name) => set.hub.factoryFor(name));
    const informers = [cached, labelled].map((options, place) => factories[place]!.informer(options));
    for (const factory of factories) void factory.start(new AbortController().signal);
    await until(() => informers.every(({ hasSynced }) => hasSynced));
    const lists = set.server.requests.filter(({ verb }) => verb === 'list').map(({ path }) => path);
    expect(lists).toEqual([expect.not.stringContaining('resourceVersion=0')]);
    await Promise.all(factories.map((factory) => factory.shutdown()));
  });

  it('[runtime#224] given a watch that has been silent, when one begins, then it waits for a list that is asked for now, and the others go on', async () => {
    const clock = new FakeClock();
    const api = new ScriptedCollection(clock);
    const hub = createInformerHub({ client: api, clock, random: seededRandom(1), logger: silentLogger });
    const gone = aVolume('gone', 'd', { mine: 'yes' });
    const list = new ScriptedBody();
    api.answers(syncedStream('10', gone), list);
    hub.announce([cached, labelled] as never);
    const [one, two] = [hub.factoryFor('one'), hub.factoryFor('two')];
    const first = one.informer(cached);
    const calls = recorded(first);
    const { signal } = new AbortController();
    void one.start(signal);
    await until(() => first.hasSynced);
    const late = two.informer(labelled);
    void two.start(signal);
    let synced: readonly boolean[] = [];
    void Promise.all([late.whenSynced(signal), two.waitForSync(signal)]).then((both) => (synced = both));
    await settle();
    expect([api.summaries.length, synced, first.lister.size]).toEqual([2, [], 1]);
    list.event('ADDED', aVolume('new', 'd')).bookmark('20', 'end');
    await settle();
    expect([synced, late.lister.size]).toEqual([[true, true], 0]);
    expect(calls).toEqual(['add gone initial', 'delete gone inferred', 'add new']);
    // It was for the beginning of that term.
    void two.start(signal);
    await settle();
    expect(api.summaries).toHaveLength(2);
    await Promise.all([one.shutdown(), two.shutdown()]);
    expect(list.closed).toBe(true);
  });
});

describe('resyncs', () => {
  const minute = 60_000;
  /** A handler that comes when the informer has synced, and what it was called for after twenty minutes. */
  async function resynced(announced: readonly (number | undefined)[], wanted: number) {
    const logger = recordingLogger();
    const { clock, hub, server } = setUp({ logger });
    server.seed(aVolume('c', 'd', { mine: 'yes' }));
    const options = ofDriver('d', 'capacity');
    const others = announced.map((resyncMs) => ({ ...labelled, ...(resyncMs !== undefined && { resyncMs }) }));
    hub.announce([options, ...others] as never);
    const [one, two] = [hub.factoryFor('one'), hub.factoryFor('two')];
    const first = one.informer(options);
    const unasked = recorded(first);
    void one.start(new AbortController().signal);
    await until(() => first.hasSynced);
    const calls = recorded(two.informer({ ...labelled, resyncMs: wanted }));
    await clock.advance(20 * minute);
    expect(unasked).toEqual(['add c initial']);
    await Promise.all([one.shutdown(), two.shutdown()]);
    const warnings = logger.lines.filter(({ kind }) => kind === 'warn').map(({ message }) => message);
    return { resyncs: calls.filter((call) => call === 'update c').length, warnings };
  }

  it.each([
    { announced: [10 * minute], resyncs: 2 },
    { announced: [10 * minute, 20 * minute], resyncs: 2 },
    { announced: [20 * minute, undefined, 10 * minute], resyncs: 2 },
  ])(
    'given a reader that announced periods of $announced ms, when it asks late for ten minutes, then it gets them',
    async ({ announced, resyncs }) => {
      expect(await resynced(announced, 10 * minute)).toEqual({ resyncs, warnings: [] });
    },
  );

  it('given that no reader announced a period, when one asks late for one, then it gets none, with a warning', async () => {
    const message = 'The specified resyncPeriod is invalid because this informer does not resync';
    expect(await resynced([undefined], 10 * minute)).toEqual({ resyncs: 0, warnings: [message] });
  });
});

describe('the life of an informer', () => {
  it('given a reader that comes later, then it gets what is there, once', async () => {
    const { server, hub, watches } = setUp();
    server.seed(aVolume('c', 'd', { mine: 'yes' }));
    const options = ofDriver('d', 'capacity');
    hub.announce([options, labelled] as never);
    const one = hub.factoryFor('one');
    const first = one.informer(options);
    void one.start(new AbortController().signal);
    await until(() => first.hasSynced);
    const two = hub.factoryFor('two');
    const late = two.informer(labelled);
    const calls = recorded(late);
    void two.start(new AbortController().signal);
    expect(await late.whenSynced(new AbortController().signal)).toBe(true);
    expect(calls).toEqual(['add c initial']);
    expect(watches()).toEqual(['persistentvolumes', 'persistentvolumes']);
    // The informer goes on for the other reader, and ends with it.
    await two.shutdown();
    expect(server.openWatches()).toBe(1);
    await one.shutdown();
    expect(server.openWatches()).toBe(0);
    expect(() => one.informer(options)).toThrow('shut down');
  });

  it('given a reader that comes back, then it gets all objects again, and its indexes work', async () => {
    const { server, hub, relabel } = setUp();
    server.seed(aVolume('c', 'd', { mine: 'yes' }));
    const options = ofDriver('d', 'capacity');
    hub.announce([options, labelled] as never);
    const other = hub.factoryFor('other');
    const kept = other.informer(labelled);
    void other.start(new AbortController().signal);
    await until(() => kept.hasSynced);
    for (const turn of [1, 2]) {
      const factory = hub.factoryFor('one');
      const view = factory.informer(options);
      const calls = recorded(view);
      void factory.start(new AbortController().signal);
      await until(() => calls.length === 1);
      expect(view.lister.byIndex('handle', 'handle-c')).toHaveLength(1);
      await factory.shutdown();
      await relabel('c', { turn: String(turn) });
      await settle();
      expect(calls).toHaveLength(1);
    }
    await other.shutdown();
  });

  it('given a reader that was not announced, then it gets an informer of its own, with its own objects and fields', async () => {
    const { hub, watches, server } = setUp();
    server.seed(aVolume('a', 'd'));
    server.seed(aVolume('b', 'd', { mine: 'yes' }));
    hub.announce([ofDriver('d', 'capacity')] as never);
    const one = hub.factoryFor('one');
    const first = one.informer(ofDriver('d', 'capacity'));
    void one.start(new AbortController().signal);
    await until(() => first.hasSynced);
    const two = hub.factoryFor('two');
    const second = two.informer(labelled);
    void two.start(new AbortController().signal);
    await until(() => second.hasSynced);
    expect(watches()).toEqual(['persistentvolumes', 'persistentvolumes']);
    expect(second.lister.list().map(({ metadata, spec }) => [metadata?.name, spec])).toEqual([['b', undefined]]);
    await Promise.all([one.shutdown(), two.shutdown()]);
  });

  it.each([
    { count: 30, watched: 1 },
    { count: 31, watched: 2 },
  ])('given $count readers, when two of them read, then there are $watched watches', async ({ count, watched }) => {
    const { hub, watches, server } = setUp();
    for (let n = 0; n < count; n += 1) server.seed(aVolume(`of-${n}`, String(n)));
    const readers = Array.from({ length: count }, (_, n) => ofDriver(String(n), 'capacity'));
    hub.announce(readers);
    const one = hub.factoryFor('one');
    const views = [one.informer(readers[0]!), one.informer(readers[count - 1]!)];
    void one.start(new AbortController().signal);
    await until(() => views.every(({ hasSynced }) => hasSynced));
    expect(watches()).toHaveLength(watched);
    const names = views.map(({ lister }) => lister.list().map(({ metadata }) => metadata?.name));
    expect(names).toEqual([['of-0'], [`of-${count - 1}`]]);
    await one.shutdown();
  });

  it('given a reader that never started, then the next one gets an informer that works', async () => {
    const { hub, server } = setUp();
    server.seed(aVolume('a', 'd'));
    const [one, two] = [hub.factoryFor('one'), hub.factoryFor('two')];
    one.informer({ resource: persistentVolumes });
    await one.shutdown();
    const informer = two.informer({ resource: persistentVolumes });
    void two.start(new AbortController().signal);
    await until(() => informer.lister.size === 1);
    await two.shutdown();
  });

  it('given an informer that a defect ends, then its reader fails, and the next one gets an informer that works', async () => {
    let defects = 1;
    const random = {
      ...seededRandom(1),
      next: () => {
        if (defects-- > 0) throw new Error('no random numbers');
        return 0;
      },
    };
    const { hub, server } = setUp({ random });
    server.seed(aVolume('a', 'd'));
    const [one, two] = [hub.factoryFor('one'), hub.factoryFor('two')];
    one.informer({ resource: persistentVolumes });
    await expect(one.start(new AbortController().signal)).rejects.toThrow('no random numbers');
    const informer = two.informer({ resource: persistentVolumes });
    void two.start(new AbortController().signal);
    await until(() => informer.lister.size === 1);
    await Promise.all([one.shutdown(), two.shutdown()]);
  });

  it('given one reader of a kind, then nothing is filtered twice, and other kinds have their own watch', async () => {
    const { hub, watches, server } = setUp();
    server.seed(aVolume('a', 'd'));
    const one = hub.factoryFor('one');
    const volumes = one.informer(ofDriver('d', 'capacity'));
    const machines = one.informer({ resource: nodes });
    expect(one.informer({ resource: nodes })).toBe(machines);
    const more = { driver: ({ spec }: PersistentVolume) => [spec?.csi?.driver ?? ''] };
    expect(one.informer({ ...ofDriver('d', 'capacity'), indexers: more })).toBe(volumes);
    void one.start(new AbortController().signal);
    await until(() => volumes.hasSynced && machines.hasSynced);
    expect(watches().toSorted()).toEqual(['nodes', 'persistentvolumes']);
    expect(volumes.lister.size).toBe(1);
    expect(volumes.lister.byIndex('driver', 'd')).toEqual(volumes.lister.list());
    // There is no note at the objects about who keeps them.
    expect(Object.getOwnPropertySymbols(volumes.lister.list()[0]!)).toEqual([]);
    await one.shutdown();
  });

  it('given an index function that throws before its late reader has started, then the start fails with it', async () => {
    const { hub, server } = setUp();
    server.seed(aVolume('a', 'd'));
    const [one, two] = [hub.factoryFor('one'), hub.factoryFor('two')];
    const first = one.informer({ resource: persistentVolumes });
    void one.start(new AbortController().signal);
    await until(() => first.hasSynced);
    const broken = () => {
      throw new Error('wrong index');
    };
    two.informer({ resource: persistentVolumes, indexers: { broken } });
    await settle();
    await expect(two.start(new AbortController().signal)).rejects.toThrow('index function "two/broken" failed');
    await Promise.all([one.shutdown(), two.shutdown()]);
  });

  it('given an index function that throws, then its reader fails alone, and gets an informer of its own next time', async () => {
    const { hub, server, watches } = setUp();
    server.seed(aVolume('a', 'd', { mine: 'yes' }));
    const options = ofDriver('d', 'capacity');
    const broken: InformerOptions<PersistentVolume> = {
      ...options,
      indexers: {
        broken: () => {
          throw new Error('wrong index');
        },
      },
    };
    hub.announce([options, labelled] as never);
    const [one, two] = [hub.factoryFor('one'), hub.factoryFor('two')];
    one.informer(broken);
    const other = two.informer(labelled);
    const failing = one.start(new AbortController().signal);
    const following = two.start(new AbortController().signal);
    await expect(failing).rejects.toThrow('index function "one/broken" failed');
    await until(() => other.hasSynced);
    expect(other.lister.size).toBe(1);
    await one.shutdown();
    const again = hub.factoryFor('one');
    const informer = again.informer(options);
    void again.start(new AbortController().signal);
    await until(() => informer.hasSynced);
    expect([informer.lister.size, watches().length, server.openWatches()]).toEqual([1, 2, 2]);
    await Promise.all([two.shutdown(), again.shutdown()]);
    await following;
    expect(server.openWatches()).toBe(0);
  });
});

it('[runtime#206] given two readers of one object, when a write of one of them got no answer, then both know of the doubt, and one read ends it', async () => {
  const { server, hub, client } = setUp();
  server.seed(aVolume('c', 'd', { mine: 'yes' }));
  const options = ofDriver('d', 'capacity');
  hub.announce([options, labelled] as never);
  const [one, two] = [hub.factoryFor('one'), hub.factoryFor('two')];
  const [byDriver, byLabel] = [one.informer(options), two.informer(labelled)];
  const signal = new AbortController().signal;
  void one.start(signal);
  void two.start(signal);
  await until(() => byDriver.hasSynced && byLabel.hasSynced);
  byDriver.doubt(aVolume('c', 'd'));
  expect([byDriver.doubted.has(key('c')), byLabel.doubted.has(key('c'))]).toEqual([true, true]);
  await byLabel.confirm(key('c'), () => client.list(persistentVolumes, { fieldSelector: 'metadata.name=c' }));
  expect([byDriver.doubted.size, byLabel.doubted.size]).toEqual([0, 0]);
  await Promise.all([one.shutdown(), two.shutdown()]);
});
