// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { aVolume, ScriptedBody, scriptedInformer, type ScriptedInformer, syncedInformer } from '../../testing/index.ts';
import type { KubeObject, PersistentVolume } from '../api/objects.ts';
import { toObjectKey } from './key.ts';

const keyA = toObjectKey(undefined, 'a');

const indexers = { tier: ({ metadata }: KubeObject) => [metadata?.labels?.['tier'] ?? 'none'] };

const seen = ({ informer }: ScriptedInformer): string | undefined =>
  informer.lister.get(keyA)?.metadata?.resourceVersion;

describe('read your writes', () => {
  it('given the answer to an own write, then the lister shows it by key, list, size and index, and no handler is called', async () => {
    const harness = await syncedInformer({ indexers });
    const { informer, calls, stop } = harness;
    informer.remember(aVolume('a', '12', { labels: { tier: 'fast' } }));
    informer.remember(aVolume('b', '13'));
    expect(seen(harness)).toBe('12');
    expect(informer.lister.list().map(({ metadata }) => metadata?.resourceVersion)).toEqual(['12', '13']);
    expect(informer.lister.byIndex('tier', 'fast').map(({ metadata }) => metadata?.name)).toEqual(['a']);
    expect(informer.lister.byIndex('tier', 'none').map(({ metadata }) => metadata?.name)).toEqual(['b']);
    expect(informer.lister.size).toBe(2);
    expect(calls).toEqual(['add a@5 initial']);
    await stop();
  });

  it('given an older event than the own write, then the lister keeps the write, until the watch has it', async () => {
    const harness = await syncedInformer({ indexers });
    const { clock, informer, calls, stream, stop } = harness;
    informer.remember(aVolume('a', '12'));
    stream.event('MODIFIED', aVolume('a', '11'));
    await clock.advance(0);
    expect(seen(harness)).toBe('12');
    stream.event('MODIFIED', aVolume('a', '12')).event('MODIFIED', aVolume('a', '13'));
    await clock.advance(0);
    expect(seen(harness)).toBe('13');
    expect(calls).toEqual(['add a@5 initial', 'update a@5->11', 'update a@11->12', 'update a@12->13']);
    await stop();
  });

  it('given versions beyond 2^53 and of other lengths, then the newer one wins', async () => {
    const harness = await syncedInformer({ indexers });
    const { clock, informer, stream, stop } = harness;
    informer.remember(aVolume('a', '9007199254740993'));
    stream.event('MODIFIED', aVolume('a', '9007199254740992'));
    await clock.advance(0);
    expect(seen(harness)).toBe('9007199254740993');
    informer.remember(aVolume('a', '9007199254740994'));
    informer.remember(aVolume('a', '999'));
    expect(seen(harness)).toBe('9007199254740994');
    await stop();
  });

  it('given the answers to two own writes in the wrong order, then the newer one stays', async () => {
    const harness = await syncedInformer({ indexers });
    const { informer, stop } = harness;
    informer.remember(aVolume('a', '15'));
    informer.remember(aVolume('a', '12'));
    expect(seen(harness)).toBe('15');
    await stop();
  });

  it('[runtime#222] given the answers to the removals of the last two finalizers, when that of the first arrives last, then the object stays hidden', async () => {
    const harness = await syncedInformer({ indexers });
    const { clock, informer, stream, stop } = harness;
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const first = aVolume('a', '12', { deletionTimestamp, finalizers: ['a/b'] });
    informer.remember(aVolume('a', '12', { deletionTimestamp, finalizers: [] }));
    informer.remember(first);
    expect(seen(harness)).toBeUndefined();
    stream.event('MODIFIED', first);
    await clock.advance(0);
    expect(seen(harness)).toBeUndefined();
    informer.remember(aVolume('a', '13', { deletionTimestamp, finalizers: ['a/b'] }));
    expect(seen(harness)).toBe('13');
    await stop();
  });

  it('given a deletion, then the own write is forgotten with the object, before handlers hear of it', async () => {
    const harness = await syncedInformer({ indexers });
    const { clock, informer, stream, stop } = harness;
    const atDeletion: number[] = [];
    informer.addHandler({ delete: () => atDeletion.push(informer.lister.size) });
    informer.remember(aVolume('a', '15'));
    stream.event('DELETED', aVolume('a', '11'));
    await clock.advance(0);
    expect([seen(harness), atDeletion]).toEqual([undefined, [0]]);
    await stop();
  });

  it('given an object that was deleted and written again, then the deletion of the old one does not hide it', async () => {
    const harness = await syncedInformer({ indexers });
    const { clock, informer, stream, stop } = harness;
    informer.remember(aVolume('a', '15', { uid: 'new' }));
    stream.event('DELETED', aVolume('a', '11'));
    await clock.advance(0);
    expect(seen(harness)).toBe('15');
    await stop();
  });

  it('given a deletion of another object that is newer than the own write, then the own write is forgotten', async () => {
    const harness = await syncedInformer({ indexers });
    const { clock, informer, stream, stop } = harness;
    informer.remember(aVolume('a', '12', { uid: 'first' }));
    stream.event('DELETED', aVolume('a', '15', { uid: 'second' }));
    await clock.advance(0);
    expect(seen(harness)).toBeUndefined();
    await stop();
  });

  it('given an answer that comes after the watch has passed it, then a deleted object does not come back', async () => {
    const harness = await syncedInformer({ indexers });
    const { clock, informer, stream, stop } = harness;
    stream.event('DELETED', aVolume('a', '12'));
    await clock.advance(0);
    informer.remember(aVolume('a', '11'));
    expect(seen(harness)).toBeUndefined();
    await stop();
  });

  it('given a watch that never catches up, then the own write is forgotten after 6 minutes', async () => {
    const harness = await syncedInformer({ indexers });
    const { clock, informer, stop } = harness;
    informer.remember(aVolume('a', '12'));
    await clock.advance(30_000);
    informer.remember(aVolume('b', '13'));
    await clock.advance(329_999);
    expect(seen(harness)).toBe('12');
    await clock.advance(1);
    expect(seen(harness)).toBe('5');
    expect(informer.lister.size).toBe(2);
    // What is written again is kept for 6 minutes again, and does not keep what was written before.
    informer.remember(aVolume('c', '14'));
    await clock.advance(20_000);
    informer.remember(aVolume('d', '15'));
    await clock.advance(20_000);
    informer.remember(aVolume('c', '16'));
    await clock.advance(339_999);
    const names = () => informer.lister.list().map(({ metadata }) => metadata?.name);
    expect(names()).toEqual(['a', 'd', 'c']);
    await clock.advance(1);
    expect(names()).toEqual(['a', 'c']);
    await stop();
  });

  it('given an object that only an own write has shown, when a relist lacks it, then handlers hear of its end', async () => {
    const harness = await syncedInformer({ indexers });
    const { api, calls, clock, informer, stream, stop } = harness;
    api.answers(new ScriptedBody().event('ADDED', aVolume('a', '5')).bookmark('20', 'end'));
    informer.remember(aVolume('b', '12'));
    stream.write('garbage\n');
    await clock.advance(800);
    expect([calls, informer.lister.size]).toEqual([['add a@5 initial', 'tombstone b@12'], 1]);
    await stop();
  });

  it.each([
    { then: 'forgotten when the list is as new', listRv: '20', volumes: [], seen: undefined },
    { then: 'kept when the list is older', listRv: '11', volumes: [aVolume('a', '5')], seen: '12' },
    { then: 'forgotten when the list has a newer one', listRv: '20', volumes: [aVolume('a', '18')], seen: '18' },
  ])('given a relist, then the own write is $then', async ({ listRv, volumes, seen: expected }) => {
    const harness = await syncedInformer({ indexers });
    const { api, clock, informer, stream, stop } = harness;
    const again = new ScriptedBody();
    for (const volume of volumes) again.event('ADDED', volume);
    api.answers(again.bookmark(listRv, 'end'));
    informer.remember(aVolume('a', '12'));
    stream.write('garbage\n');
    await clock.advance(800);
    expect(seen(harness)).toBe(expected);
    await stop();
  });

  it.each([
    { given: 'an own write', written: {}, call: 'update a@12->5' },
    {
      given: 'an own write that removed the object',
      written: { deletionTimestamp: '2026-01-01T00:00:00Z' },
      call: 'add a@5',
    },
  ])(
    '[runtime#228] given $given, when the server is restored to the state before, then the object is shown as it is, and handlers hear of that',
    async ({ written, call }) => {
      const harness = await syncedInformer({ indexers });
      const { api, calls, clock, informer, stream, stop } = harness;
      api.answers(new ScriptedBody().event('ADDED', aVolume('a', '5')).bookmark('20', 'end'));
      informer.remember(aVolume('a', '12', written));
      stream.write('garbage\n');
      await clock.advance(800);
      expect([seen(harness), calls.slice(1)]).toEqual(['5', [call]]);
      await stop();
    },
  );

  it('given an answer with the version that the cache has reached, then a deleted object does not come back', async () => {
    const harness = await syncedInformer({ indexers });
    harness.informer.remember(aVolume('b', '10'));
    expect(harness.informer.lister.size).toBe(1);
    await harness.stop();
  });

  it('given versions that cannot be compared, then a write is shown unless it is what the cache has', async () => {
    const harness = scriptedInformer();
    harness.api.answers(new ScriptedBody().event('ADDED', aVolume('a', 'x5')).bookmark('x10', 'end'));
    await harness.start();
    const listed = harness.informer.lister.get(keyA);
    harness.informer.remember(aVolume('a', 'x5'));
    expect(harness.informer.lister.get(keyA)).toBe(listed);
    harness.informer.remember(aVolume('a', 'x7'));
    expect(seen(harness)).toBe('x7');
    await harness.stop();
  });

  it("given the caller's object, when it is read, then it stays as it is", async () => {
    const harness = await syncedInformer({ indexers });
    const { informer, stop } = harness;
    const written: PersistentVolume & KubeObject = aVolume('a', '12', { managedFields: [{ manager: 'x' }] });
    informer.remember(written);
    expect(seen(harness)).toBe('12');
    expect(written.metadata?.managedFields).toEqual([{ manager: 'x' }]);
    expect(Object.isFrozen(written)).toBe(false);
    await stop();
  });

  it('given a write that a transform filters out, then the lister does not show the object any more', async () => {
    const harness = scriptedInformer({
      transform: { id: 'mine', apply: (object) => (object.metadata?.labels?.['other'] === 'yes' ? undefined : object) },
    });
    harness.api.answers(new ScriptedBody().event('ADDED', aVolume('a', '5')).bookmark('10', 'end'));
    await harness.start();
    harness.informer.remember(aVolume('a', '12', { labels: { other: 'yes' } }));
    expect(seen(harness)).toBeUndefined();
    expect(harness.informer.lister.size).toBe(0);
    await harness.stop();
  });

  it('given a write that the watch brings before it is read, then only the object of the watch is prepared; otherwise both are, once', async () => {
    const prepared: (string | undefined)[] = [];
    const harness = scriptedInformer({
      transform: {
        id: 'counting',
        apply: (object) => {
          prepared.push(object.metadata?.resourceVersion);
          return object;
        },
      },
    });
    const stream = new ScriptedBody().event('ADDED', aVolume('a', '5')).bookmark('10', 'end');
    harness.api.answers(stream);
    await harness.start();
    harness.informer.remember(aVolume('a', '12'));
    stream.event('MODIFIED', aVolume('a', '12'));
    await harness.clock.advance(0);
    expect(seen(harness)).toBe('12');
    harness.informer.remember(aVolume('a', '14'));
    expect([seen(harness), seen(harness)]).toEqual(['14', '14']);
    stream.event('MODIFIED', aVolume('a', '14'));
    await harness.clock.advance(0);
    expect(prepared).toEqual(['5', '12', '14', '14']);
    await harness.stop();
  });

  it('given a write on which a transform fails, then the lister shows the object as the watch brings it', async () => {
    const harness = scriptedInformer({
      indexers,
      transform: {
        id: 'failing',
        apply: (object) => {
          if (object.metadata?.resourceVersion === '12') throw new Error('no');
          return object;
        },
      },
    });
    const stream = new ScriptedBody().event('ADDED', aVolume('a', '5')).bookmark('10', 'end');
    harness.api.answers(stream);
    await harness.start();
    const { informer, logger } = harness;
    const byIndex = () => informer.lister.byIndex('tier', 'none').map(({ metadata }) => metadata?.resourceVersion);
    const read = [
      () => [seen(harness)],
      byIndex,
      () => informer.lister.list().map(({ metadata }) => metadata?.resourceVersion),
    ];
    for (const first of read) {
      informer.remember(aVolume('a', '12'));
      expect([first(), seen(harness), byIndex(), informer.lister.size]).toEqual([['5'], '5', ['5'], 1]);
    }
    expect(logger.lines.filter(({ kind }) => kind === 'error')).toHaveLength(3);
    stream.event('MODIFIED', aVolume('a', '11', { labels: { tier: 'fast' } }));
    await harness.clock.advance(0);
    expect([seen(harness), byIndex(), informer.lister.byIndex('tier', 'fast').length]).toEqual(['11', [], 1]);
    await harness.stop();
  });

  describe('given the answer to the write that takes the last finalizer off an object being deleted', () => {
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const last = aVolume('a', '12', { deletionTimestamp });

    it('then the object is gone at once, whatever older versions of it the watch still brings', async () => {
      const harness = await syncedInformer({ indexers });
      const { clock, informer, calls, stream, stop } = harness;
      informer.remember(last);
      expect([seen(harness), informer.lister.size, informer.lister.byIndex('tier', 'none')]).toEqual([
        undefined,
        0,
        [],
      ]);
      stream.event('MODIFIED', aVolume('a', '12', { deletionTimestamp, finalizers: ['ours'] }));
      await clock.advance(0);
      expect(seen(harness)).toBeUndefined();
      stream.event('DELETED', aVolume('a', '13', { deletionTimestamp }));
      await clock.advance(0);
      expect(seen(harness)).toBeUndefined();
      expect(calls).toEqual(['add a@5 initial', 'update a@5->12', 'delete a@13']);
      await stop();
    });

    it('then an object of the same name that is made afterwards is seen', async () => {
      const harness = await syncedInformer({ indexers });
      const { clock, informer, stream, stop } = harness;
      informer.remember(last);
      stream
        .event('DELETED', aVolume('a', '13', { deletionTimestamp }))
        .event('ADDED', aVolume('a', '14', { uid: 'new' }));
      await clock.advance(0);
      expect(seen(harness)).toBe('14');
      informer.remember(last);
      expect(seen(harness)).toBe('14');
      await stop();
    });

    it.each(['the answer to that write', 'a read that does not find it'])(
      'then it is hidden for 6 minutes after the second answer, also if the first was %s',
      async (first) => {
        const harness = await syncedInformer({ indexers });
        const { clock, informer, stop } = harness;
        if (first === 'the answer to that write') informer.remember(last);
        else {
          informer.doubt(last);
          await informer.confirm(keyA, async () => ({ items: [], resourceVersion: '12' }));
        }
        await clock.advance(30_000);
        informer.remember(last);
        await clock.advance(359_999);
        expect([seen(harness), informer.lister.size]).toEqual([undefined, 0]);
        await clock.advance(1);
        expect(seen(harness)).toBe('5');
        await stop();
      },
    );

    it('then an unknown object, and another one of its name, are not hidden', async () => {
      const harness = await syncedInformer({ indexers });
      const { informer, stop } = harness;
      informer.remember(aVolume('b', '12', { deletionTimestamp }));
      informer.remember(aVolume('a', '12', { deletionTimestamp, uid: 'another' }));
      expect([seen(harness), informer.lister.size]).toEqual(['5', 1]);
      await stop();
    });

    it('then an object that others still keep with their finalizers is still there', async () => {
      const harness = await syncedInformer({ indexers });
      const { informer, stop } = harness;
      informer.remember(aVolume('a', '12', { deletionTimestamp, finalizers: ['theirs'] }));
      expect(seen(harness)).toBe('12');
      await stop();
    });

    it('then an object whose grace period runs is still there', async () => {
      const harness = await syncedInformer({ indexers });
      const { informer, stop } = harness;
      informer.remember(aVolume('a', '12', { deletionTimestamp, deletionGracePeriodSeconds: 30 }));
      expect(seen(harness)).toBe('12');
      await stop();
    });
  });
});
