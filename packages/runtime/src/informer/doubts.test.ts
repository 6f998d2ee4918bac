// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { aVolume, ScriptedBody, scriptedInformer, type ScriptedInformer, syncedInformer } from '../../testing/index.ts';
import type { PersistentVolume } from '../api/objects.ts';
import { toObjectKey } from './key.ts';

const keyA = toObjectKey(undefined, 'a');

const seen = ({ informer }: ScriptedInformer): string | undefined =>
  informer.lister.get(keyA)?.metadata?.resourceVersion;
const listed = (resourceVersion: string, ...items: readonly PersistentVolume[]) => ({ items, resourceVersion });
const doubted = ({ informer }: ScriptedInformer): readonly string[] => [...informer.doubted.keys()];

describe('an object in doubt', () => {
  it('[runtime#201] given it is read, then the lister shows what was read, no handler is called, and the doubt is over', async () => {
    const harness = await syncedInformer();
    harness.informer.doubt(aVolume('a', '5'));
    expect([doubted(harness), seen(harness)]).toEqual([['a'], '5']);
    await harness.informer.confirm(keyA, async () => listed('20', aVolume('a', '12')));
    expect([doubted(harness), seen(harness), harness.calls]).toEqual([[], '12', ['add a@5 initial']]);
    expect(harness.informer.doubted.has(keyA)).toBe(false);
    await harness.stop();
  });

  it('[runtime#201] given the watch shows it, or another write is answered, then it stays in doubt: both may be older than the write', async () => {
    const harness = await syncedInformer();
    harness.informer.doubt(aVolume('a', '5'));
    harness.stream.event('MODIFIED', aVolume('a', '11'));
    await harness.clock.advance(0);
    harness.informer.remember(aVolume('a', '12'));
    expect([doubted(harness), seen(harness)]).toEqual([['a'], '12']);
    await harness.stop();
  });

  it('[runtime#201] given the read fails, then it rejects, and the object stays in doubt', async () => {
    const harness = await syncedInformer();
    harness.informer.doubt(aVolume('a', '5'));
    const failing = harness.informer.confirm(keyA, () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect([doubted(harness), seen(harness)]).toEqual([['a'], '5']);
    await harness.stop();
  });

  it('[runtime#201] given another write without an answer during the read, then it stays in doubt', async () => {
    const harness = await syncedInformer();
    harness.informer.doubt(aVolume('a', '5'));
    const answer = Promise.withResolvers<ReturnType<typeof listed>>();
    const reading = harness.informer.confirm(keyA, () => answer.promise);
    harness.informer.doubt(aVolume('a', '5'));
    answer.resolve(listed('20', aVolume('a', '12')));
    await reading;
    expect([doubted(harness), seen(harness)]).toEqual([['a'], '12']);
    await harness.stop();
  });

  it('[runtime#202] given the read finds it gone, then the lister hides it until the watch has passed the version of the read', async () => {
    const harness = await syncedInformer();
    harness.informer.remember(aVolume('a', '12'));
    harness.informer.doubt(aVolume('a', '12'));
    await harness.informer.confirm(keyA, async () => listed('20'));
    expect([doubted(harness), seen(harness), harness.informer.lister.size]).toEqual([[], undefined, 0]);
    // What others wrote before it was gone, from a watch that is late.
    harness.stream.event('MODIFIED', aVolume('a', '13'));
    await harness.clock.advance(0);
    expect(seen(harness)).toBeUndefined();
    harness.stream.event('DELETED', aVolume('a', '14')).event('ADDED', aVolume('a', '21', { uid: 'another' }));
    await harness.clock.advance(0);
    expect(seen(harness)).toBe('21');
    await harness.stop();
  });

  describe('[runtime#229] given a list with an object as it was when an own write removed it', () => {
    const last = aVolume('a', '5', { deletionTimestamp: '2026-01-01T00:00:00Z' });

    async function listedAgain(): Promise<ScriptedInformer> {
      const harness = await syncedInformer();
      harness.informer.remember(last);
      harness.api.answers(new ScriptedBody().event('ADDED', aVolume('a', '5')).bookmark('20', 'end'));
      harness.stream.write('garbage\n');
      await harness.clock.advance(800);
      expect([doubted(harness), seen(harness), harness.calls]).toEqual([
        ['a'],
        undefined,
        ['add a@5 initial', 'add a@5'],
      ]);
      return harness;
    }

    it.each([
      { then: 'shown again if it is there', read: listed('21', aVolume('a', '5')), shown: '5' },
      { then: 'still hidden if it is gone', read: listed('21'), shown: undefined },
      { then: 'the other one of its name', read: listed('21', aVolume('a', '21', { uid: 'other' })), shown: '21' },
    ])(
      'then it is hidden and in doubt, handlers hear of it, and after the read it is $then',
      async ({ read, shown }) => {
        const harness = await listedAgain();
        await harness.informer.confirm(keyA, async () => read);
        expect([doubted(harness), seen(harness)]).toEqual([[], shown]);
        await harness.stop();
      },
    );

    it('when it is removed again during the read, then it stays hidden', async () => {
      const harness = await listedAgain();
      const answer = Promise.withResolvers<ReturnType<typeof listed>>();
      const reading = harness.informer.confirm(keyA, () => answer.promise);
      harness.informer.remember(last);
      answer.resolve(listed('21', aVolume('a', '5')));
      await reading;
      expect(seen(harness)).toBeUndefined();
      await harness.stop();
    });
  });

  it('given the read finds it gone, when the watch has shown a later object of its name by then, then that one is shown', async () => {
    const harness = await syncedInformer();
    harness.informer.doubt(aVolume('a', '5'));
    harness.stream.event('ADDED', aVolume('a', '21', { uid: 'another' }));
    await harness.clock.advance(0);
    await harness.informer.confirm(keyA, async () => listed('20'));
    expect(seen(harness)).toBe('21');
    await harness.stop();
  });

  it('[runtime#202] given its deletion, then nothing is in doubt; given that of an earlier object of its name, then it stays', async () => {
    const harness = await syncedInformer();
    const atDeletion: (readonly string[])[] = [];
    harness.informer.addHandler({ delete: () => atDeletion.push(doubted(harness)) });
    await harness.clock.advance(0);
    harness.informer.doubt(aVolume('a', '5'));
    harness.informer.doubt(aVolume('b', '9', { uid: 'second' }));
    harness.stream.event('DELETED', aVolume('a', '11')).event('DELETED', aVolume('b', '12', { uid: 'first' }));
    await harness.clock.advance(0);
    expect([doubted(harness), atDeletion]).toEqual([['b'], [['b'], ['b']]]);
    await harness.stop();
  });

  it('given an object that the lister does not show, when the read does not find it either, then the doubt is over', async () => {
    const harness = await syncedInformer();
    harness.informer.doubt(aVolume('b', '12'));
    await harness.informer.confirm(toObjectKey(undefined, 'b'), async () => listed('20'));
    expect([doubted(harness), harness.informer.lister.size]).toEqual([[], 1]);
    await harness.stop();
  });

  it('given an object of another namespace, or one that has no name yet, then the informer has no doubt about it', async () => {
    const harness = scriptedInformer({ namespace: 'team' });
    harness.informer.doubt(aVolume('a', '5'));
    harness.informer.doubt({ metadata: { namespace: 'team', generateName: 'a-' } });
    harness.informer.doubt({});
    harness.informer.doubt(aVolume('a', '5', { namespace: 'team' }));
    expect(doubted(harness)).toEqual(['team/a']);
    const everywhere = scriptedInformer();
    everywhere.informer.doubt({});
    expect(doubted(everywhere)).toEqual([]);
  });
});
