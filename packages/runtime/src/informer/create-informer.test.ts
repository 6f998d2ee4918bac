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
import { ApiError } from '../api/errors.ts';
import { persistentVolumes } from '../api/resource.ts';

const minute = 60_000;
const busy = { status: 429, reason: 'TooManyRequests', message: 'busy' };
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

  it('[runtime#253] given an informer, then it says how many objects of its list have arrived, and why a request has failed last', async () => {
    const { api, clock, informer, start, stop } = scriptedInformer({ namespace: 'team' });
    const body = new ScriptedBody();
    const failure = new ApiError(busy);
    api.answers(failure, body);
    const progress = { collection: 'team/persistentvolumes', received: 0, failure: undefined };
    expect(informer.progress).toEqual(progress);
    await start();
    expect(informer.progress).toEqual({ ...progress, failure });
    await clock.advance(minute);
    for (const name of ['a', 'b']) body.event('ADDED', aVolume(name, '1', { namespace: 'team' }));
    await settle();
    expect(informer.progress).toEqual({ ...progress, failure, received: 2 });
    await stop();
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

describe('an informer that is refreshed', () => {
  it('[runtime#224] given a watch that shows nothing, then the collection is listed again, and handlers hear of the differences', async () => {
    const { api, calls, informer, metrics, signal, start, stop } = scriptedInformer();
    const silent = syncedStream('10', aVolume('a', '5'), aVolume('b', '6'), aVolume('c', '7'));
    const list = new ScriptedBody().event('ADDED', aVolume('b', '6')).event('ADDED', aVolume('c', '12'));
    api.answers(silent, list);
    await start();
    const before = calls.length;
    informer.refresh();
    const synced: boolean[] = [];
    void informer.whenSynced(signal).then((is) => synced.push(is));
    await settle();
    expect([api.summaries, silent.closed]).toEqual([['stream rv=', 'stream rv='], true]);
    // Others read what is there meanwhile.
    expect([informer.hasSynced, synced, informer.lister.size]).toEqual([false, [], 3]);
    list.event('ADDED', aVolume('d', '13')).bookmark('20', 'end').event('MODIFIED', aVolume('d', '21'));
    await settle();
    expect([informer.hasSynced, synced]).toEqual([true, [true]]);
    expect(calls.slice(before)).toEqual(['tombstone a@5', 'update c@7->12', 'add d@13', 'update d@13->21']);
    expect(metrics.value('reflector_replaces_total', { name: 'persistentvolumes', selector: '' })).toBe(2);
    await stop();
    expect(list.closed).toBe(true);
  });

  it('[runtime#224] given a server that does not stream lists and a watch that has to wait, then the list is asked for at once, without a version', async () => {
    const { api, clock, informer, start, stop } = scriptedInformer({ streaming: 'off' });
    const later = new ApiError({ ...busy, details: { retryAfterSeconds: 300 } });
    api.answers(listPage([], { resourceVersion: '10' }), later, listPage([], { resourceVersion: '20' }));
    await start();
    informer.refresh();
    await settle();
    expect(informer.hasSynced).toBe(true);
    await clock.advance(60_000);
    expect(api.summaries).toEqual(['list rv=0 limit=500', 'watch rv=10', 'list rv= limit=500', 'watch rv=20']);
    await stop();
  });

  it('given one that does not run yet, then its first list is current, and the only one', async () => {
    const { api, informer, start, stop } = scriptedInformer({ streaming: 'off' });
    api.answers(listPage([], { resourceVersion: '10' }));
    informer.refresh();
    await start();
    expect([informer.hasSynced, api.summaries]).toEqual([true, ['list rv= limit=500', 'watch rv=10']]);
    await stop();
  });

  it('given half of a list, then nothing of it is shown, and a list that was asked for before the last refresh is not waited for', async () => {
    const { api, calls, informer, start, stop } = scriptedInformer();
    const half = new ScriptedBody().event('ADDED', aVolume('gone', '5'));
    const list = syncedStream('20', aVolume('a', '15'));
    api.answers(syncedStream('10'), half, list);
    await start();
    // Several that come before the list is asked for share it.
    informer.refresh();
    informer.refresh();
    await settle();
    expect([api.summaries.length, half.taken]).toEqual([2, 1]);
    informer.refresh();
    half.bookmark('12', 'end');
    await settle();
    expect([api.summaries.length, half.closed, informer.hasSynced]).toEqual([3, true, true]);
    expect(calls).toEqual(['add a@15']);
    await stop();
  });

  it('given a list that is being put in, then it is put in, and the informer has synced with the next one only', async () => {
    const { api, calls, clock, informer, start, stop } = scriptedInformer();
    const next = new ScriptedBody();
    api.answers(syncedStream('10', ...many(600)), next);
    const turn = Promise.withResolvers<void>();
    informer.addHandler({ add: () => void (clock.yieldToLoop = () => turn.promise) });
    await start();
    expect(calls).toHaveLength(500);
    informer.refresh();
    turn.resolve();
    await settle();
    expect([calls.length, informer.hasSynced, api.summaries.length]).toEqual([600, false, 2]);
    next.bookmark('20', 'end');
    await settle();
    expect([calls.length, informer.hasSynced]).toEqual([1_200, true]);
    await stop();
  });

  it('given a stop before the list is in, then it has not synced, and nothing is left', async () => {
    const { api, clock, informer, start, stop } = scriptedInformer();
    const list = new ScriptedBody();
    api.answers(syncedStream('10'), list);
    await start();
    informer.refresh();
    await settle();
    const synced = informer.whenSynced(new AbortController().signal);
    await stop();
    expect([await synced, list.closed, api.requests.length, clock.pending]).toEqual([false, true, 2, 0]);
  });
});
