// SPDX-License-Identifier: Apache-2.0
/** What handlers hear is in handlers.test.ts, own writes in mutation-cache.test.ts. Here: slices, stops, and what a relist costs. */
import { describe, expect, it } from 'vitest';
import { aVolume, FakeClock, recordingLogger } from '../../testing/index.ts';
import type { PersistentVolume } from '../api/objects.ts';
import { createContent } from './content.ts';
import type { Change, ServerObject } from './decode/watch-event.ts';
import type { Notification } from './distributor.ts';
import { createDoubts } from './doubts.ts';
import type { Indexers } from './informer.ts';
import { toObjectKey } from './key.ts';
import { createMutationCache } from './mutation-cache.ts';
import { createKeyedLock } from '../workqueue/keyed-lock.ts';

const change = (type: Change['type'], object: PersistentVolume): Change => ({ type, object: object as ServerObject });
const many = (count: number) => Array.from({ length: count }, (_, n) => aVolume(`x-${n}`, '1'));

interface Options {
  readonly indexers?: Indexers<PersistentVolume>;
  readonly prepare?: (object: ServerObject) => PersistentVolume | undefined;
}

function setUp({ indexers = {}, prepare = (object) => object }: Options = {}) {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const facts = { stopped: false, syncs: 0 };
  const notes: Notification<PersistentVolume>[] = [];
  /** How many calls of handlers came before each turn of the event loop. */
  const turns: number[] = [];
  const on = { turn: () => undefined as unknown, call: () => undefined as unknown };
  clock.yieldToLoop = async () => {
    turns.push(notes.length);
    on.turn();
  };
  const content = createContent<PersistentVolume>(
    {
      clock,
      logger,
      metrics: { transformFailed: () => undefined },
      prepare,
      mutations: createMutationCache(clock),
      doubts: createDoubts(),
      lock: createKeyedLock(),
      deliver: (note) => {
        notes.push(note);
        on.call();
      },
      stopped: () => facts.stopped,
      onSynced: () => void (facts.syncs += 1),
    },
    indexers,
  );
  const list = async (objects: readonly PersistentVolume[], resourceVersion = '10') => {
    content.startCollecting();
    for (const object of objects) content.collect(change('ADDED', object));
    await content.replace(resourceVersion);
  };
  const names = () => [...content.store().objects].map(({ metadata }) => metadata?.name);
  return { content, logger, facts, notes, turns, on, list, names };
}

describe('a first content', () => {
  it('given 600 objects, then all of them show before the first call, and the event loop turns after 500 calls', async () => {
    const { list, content, on, turns, notes, facts } = setUp();
    const sizes = new Set<number>();
    on.call = () => sizes.add(content.store().objects.size);
    await list(many(600));
    expect([[...sizes], turns, notes.length, facts.syncs]).toEqual([[600], [500], 600, 1]);
  });

  it.each([2, 3])(
    'given a stop at call %d of 3, then there is no further call, and it has not synced',
    async (last) => {
      const { list, content, on, notes, facts } = setUp();
      on.call = () => (facts.stopped = notes.length === last);
      await list(many(3));
      expect([notes.length, facts.syncs, content.hasSynced()]).toEqual([last, 0, false]);
    },
  );

  it('given an index that comes while it is collected, or after it turned out to be empty, then the index has all objects', async () => {
    const { content } = setUp();
    const index = (name: string) => ({ [name]: ({ metadata }: PersistentVolume) => [metadata?.name ?? ''] });
    content.startCollecting();
    content.addIndexers(index('early'));
    await content.replace('5');
    content.addIndexers(index('between'));
    content.startCollecting();
    content.collect(change('ADDED', aVolume('a', '1')));
    content.addIndexers(index('late'));
    content.collect(change('ADDED', aVolume('b', '2')));
    await content.replace('10');
    for (const name of ['early', 'between', 'late']) expect(content.store().indexValues(name)).toEqual(['a', 'b']);
    expect(() => content.addIndexers(index('late'))).toThrow('indexer conflict: late');
  });

  it('given deletions, objects that are filtered out later, failing transforms and objects without a name while it is collected, then it has the others', async () => {
    const { content, logger, names } = setUp({
      prepare: (object) => {
        if (object.metadata.name === 'odd') throw new Error('no');
        return object.metadata.resourceVersion === '5' ? undefined : object;
      },
    });
    content.startCollecting();
    for (const object of [...['a', 'b', 'c', 'odd'].map((name) => aVolume(name, '1')), { metadata: { uid: 'u' } }])
      content.collect(change('ADDED', object));
    content.collect(change('MODIFIED', aVolume('c', '5')));
    content.collect(change('DELETED', aVolume('a', '4')));
    await content.replace('10');
    expect(names()).toEqual(['b']);
    expect(logger.messages()).toEqual(['A transform failed; the object stays as it was', 'Unexpected object, skipped']);
  });
});

describe('a later content', () => {
  it('given it lacks 600 objects, then their deletions say so in slices of 500, until a stop', async () => {
    const { list, notes, turns, on, facts } = setUp();
    await list(many(600));
    notes.splice(0);
    turns.splice(0);
    on.call = () => (facts.stopped = notes.length === 550);
    await list([]);
    // The first two turns come while the content is compared and changed.
    expect([turns, notes.length]).toEqual([[0, 0, 500], 550]);
    const gone = aVolume('x-0', '1');
    expect(notes[0]).toEqual({ kind: 'delete', deletion: { key: 'x-0', object: gone, stored: gone, observed: false } });
  });

  it('given changes of it are being notified, then a change of the watch waits, and an idle content applies it at once', async () => {
    const { content, list, notes, on } = setUp();
    const next = change('MODIFIED', aVolume('x-0', '11'));
    let waiting: Promise<void> | undefined;
    on.turn = () => (waiting ??= content.apply(next));
    await list(many(600));
    await waiting;
    expect(notes.at(-1)).toMatchObject({ kind: 'update', current: { metadata: { resourceVersion: '11' } } });
    expect([notes.length, content.apply(change('MODIFIED', aVolume('x-0', '12')))]).toEqual([601, undefined]);
    expect(notes).toHaveLength(602);
  });

  it('given a stop while a change of the watch waits, then it is not applied', async () => {
    const { content, list, notes, on, facts } = setUp();
    let waiting: Promise<void> | undefined;
    on.turn = () => {
      facts.stopped = true;
      waiting ??= content.apply(change('ADDED', aVolume('y', '11')));
    };
    await list(many(600));
    await waiting;
    expect([notes.length, content.store().objects.get(toObjectKey(undefined, 'y'))]).toEqual([500, undefined]);
  });

  it('given an unchanged object in it, then it is neither prepared nor indexed again, and stays the same one', async () => {
    const seen: string[] = [];
    const { content, list, notes, facts } = setUp({
      indexers: { seen: ({ metadata }) => [`${seen.push(`indexed ${metadata?.resourceVersion}`)}`] },
      prepare: (object) => {
        seen.push(`prepared ${object.metadata.resourceVersion}`);
        return object;
      },
    });
    await list([aVolume('a', '1')]);
    const [before] = content.store().objects;
    expect(seen).toEqual(['prepared 1', 'indexed 1']);
    await list([aVolume('a', '1')]);
    expect([seen.length, notes.length, facts.syncs]).toEqual([2, 1, 1]);
    expect([...content.store().objects][0]).toBe(before);
  });
});

describe('a change of the watch', () => {
  it('given an object without a name, then it is skipped, with an error in the log', async () => {
    const { content, list, logger, notes } = setUp();
    await list([]);
    await content.apply(change('ADDED', { metadata: { resourceVersion: '11' } }));
    expect([notes, content.resourceVersion(), logger.messages()]).toEqual([[], '10', ['Unexpected object, skipped']]);
  });

  it('given an object or a bookmark without a version, then the last version stays', async () => {
    const { content, list, names } = setUp();
    await list([]);
    await content.apply(change('ADDED', { metadata: { name: 'a' } }));
    content.bookmark('');
    expect([names(), content.resourceVersion()]).toEqual([['a'], '10']);
    content.bookmark('12');
    expect(content.resourceVersion()).toBe('12');
  });

  it('given another object of a known name, then the deletion of the known one is inferred, and has it', async () => {
    const { content, list, notes } = setUp();
    const [old, other] = [aVolume('a', '1'), aVolume('a', '11', { uid: 'other' })];
    await list([old]);
    await content.apply(change('MODIFIED', other));
    expect(notes.slice(1)).toEqual([
      { kind: 'delete', deletion: { key: 'a', object: old, stored: old, observed: false } },
      { kind: 'add', object: other, isInInitialList: false },
    ]);
  });
});
