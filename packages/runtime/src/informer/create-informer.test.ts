// SPDX-License-Identifier: Apache-2.0
/** The life of an informer, and what its options change. */
import { describe, expect, it } from 'vitest';
import {
  aVolume,
  listPage,
  recordCallsTo,
  ScriptedBody,
  scriptedInformer,
  type ScriptedInformerOptions,
  settle,
  syncedStream,
} from '../../testing/index.ts';
import { usedHeap } from '../../testing/used-heap.ts';
import { persistentVolumes } from '../api/resource.ts';

const minute = 60_000;
const many = (count: number) => Array.from({ length: count }, (_, n) => aVolume(`x-${n}`, '1'));

/** Synced with 600 objects. From then on the event loop does not turn before `release`. */
async function held() {
  const scripted = scriptedInformer();
  scripted.api.answers(syncedStream('10', ...many(600)));
  await scripted.start();
  const turn = Promise.withResolvers<void>();
  scripted.clock.yieldToLoop = () => turn.promise;
  return { ...scripted, release: turn.resolve };
}

describe('what distinguishes informers', () => {
  it.each<{ what: string; options: ScriptedInformerOptions; name: string }>([
    { what: 'everything of a core resource', options: { content: 'full' }, name: 'persistentvolumes' },
    { what: 'one namespace', options: { namespace: 'team' }, name: 'team/persistentvolumes' },
    {
      what: 'a resource of a group',
      options: { resource: { ...persistentVolumes, group: 'example.com' } },
      name: 'persistentvolumes.example.com',
    },
  ])('given an informer of $what, then its metrics and log lines have the name $name', async ({ options, name }) => {
    const { informer, logger, metrics, start, stop } = scriptedInformer({ resyncMs: 10 * minute, ...options });
    expect(metrics.value('informer_objects', { name, selector: '' })).toBe(0);
    await start();
    // A period that is too short for an informer that runs.
    informer.addHandler({}, { resyncMs: 5 * minute });
    expect(logger.lines).toMatchObject([
      { kind: 'warn', facts: { reflector: name, resyncCheckPeriodMs: 10 * minute } },
    ]);
    await stop();
    expect(metrics.value('informer_objects', { name, selector: '' })).toBeUndefined();
  });

  it('given an informer of one namespace, then writes in others are none of its own', async () => {
    const { informer } = scriptedInformer({ namespace: 'team' });
    informer.remember(aVolume('a', '5', { namespace: 'other' }));
    informer.remember(aVolume('b', '5', { namespace: 'team' }));
    expect(informer.lister.list().map(({ metadata }) => metadata?.name)).toEqual(['b']);
  });

  it.each([
    { options: { maxFrameBytes: 1_000 }, bytes: 1_001 },
    { options: {}, bytes: 16 * 2 ** 20 + 1 },
  ])('given options $options, then a watch event of $bytes bytes is refused, and the log says so', async (row) => {
    const { api, logger, start, stop } = scriptedInformer(row.options);
    api.answers(syncedStream('10', aVolume('a', '5')).write(Buffer.alloc(row.bytes, 'x')));
    await start();
    const refusal = { kind: 'error', message: 'watch ended with error', facts: { reflector: 'persistentvolumes' } };
    expect(logger.lines).toMatchObject([{ message: 'Caches populated' }, refusal]);
    await stop();
  });
});

describe('the life of an informer', () => {
  it('given it was started before, then it cannot be started again', async () => {
    const { informer, signal, start, stop } = scriptedInformer();
    await start();
    await expect(informer.run(signal)).rejects.toThrow('informer persistentvolumes was started before');
    await stop();
  });

  it('given a handler that was there before the start, then it has synced when the informer has', async () => {
    const { api, informer, start, stop } = scriptedInformer();
    const registration = informer.addHandler({});
    const stream = new ScriptedBody().event('ADDED', aVolume('a', '5'));
    api.answers(stream);
    await start();
    expect([registration.hasSynced, informer.hasSynced]).toEqual([false, false]);
    stream.bookmark('10', 'end');
    await settle();
    expect([registration.hasSynced, informer.hasSynced]).toEqual([true, true]);
    await stop();
  });

  it('given a late handler that is removed while it catches up, then a sync that waits for it is complete', async () => {
    const { informer, signal, release, stop } = await held();
    const late: string[] = [];
    const registration = informer.addHandler(recordCallsTo(late));
    const synced: boolean[] = [];
    void informer.whenSynced(signal).then((is) => synced.push(is));
    await settle();
    expect([late.length, synced]).toEqual([500, []]);
    registration.remove();
    await settle();
    expect([late.length, synced]).toEqual([500, [true]]);
    release();
    await stop();
  });

  it('given a stop while a late handler catches up, then the informer ends after it, with its metrics', async () => {
    const { informer, metrics, release, stop } = await held();
    informer.addHandler({});
    await settle();
    let hasEnded = false;
    const ending = stop().then(() => (hasEnded = true));
    await settle();
    const size = () => metrics.value('informer_objects', { name: 'persistentvolumes', selector: '' });
    expect([hasEnded, size()]).toEqual([false, undefined]);
    release();
    await ending;
    expect(hasEnded).toBe(true);
  });

  it('given a defect that ends it, then its requests end with it, and a handler is refused', async () => {
    const bad = () => {
      throw new Error('defect');
    };
    const { api, informer, signal } = scriptedInformer({ indexers: { bad }, streaming: 'off' });
    api.answers(listPage([aVolume('a', '5')], { resourceVersion: '10' }));
    await expect(informer.run(signal)).rejects.toThrow('index function "bad" failed for "a"');
    expect(api.requests[0]!.signal.reason).toEqual(new Error('informer persistentvolumes has ended'));
    expect(() => informer.addHandler({})).toThrow('it has stopped already');
  });

  it('given a thousand handlers that were removed, then nothing of them is kept', async () => {
    const { clock, informer, start, stop } = scriptedInformer({ resyncMs: minute });
    await start();
    const before = usedHeap();
    for (let n = 0; n < 1_000; n += 1) {
      const state = Array.from({ length: 1_000 }, () => n);
      informer.addHandler({ add: () => state.push(n) }).remove();
    }
    await clock.advance(0);
    expect(usedHeap() - before).toBeLessThan(2_000_000);
    await stop();
  });
});
