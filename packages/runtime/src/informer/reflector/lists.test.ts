// SPDX-License-Identifier: Apache-2.0
/** The requests for lists in pages, and the calls of handlers after a relist. */
import { describe, expect, it } from 'vitest';
import {
  aVolume,
  listPage,
  collectionErrors,
  ScriptedBody,
  scriptedInformer,
  syncedStream,
  type ScriptedInformer,
} from '../../../testing/index.ts';
import { ApiError } from '../../api/errors.ts';

const errorLines = ({ logger }: ScriptedInformer): number => logger.lines.filter(({ kind }) => kind === 'error').length;

describe('lists', () => {
  it('[runtime#68] given a first list that came in pages, then later lists ask for pages too', async () => {
    const { api, calls, clock, start, stop } = scriptedInformer({ streaming: 'off' });
    const watch = new ScriptedBody();
    api.answers(listPage([aVolume('a', '1')], { resourceVersion: '10', next: 'token' }));
    api.answers(listPage([aVolume('b', '2')], { resourceVersion: '11' }), watch);
    await start();
    watch.refuse(collectionErrors.expired);
    await clock.advance(800);
    expect(api.summaries).toEqual([
      'list rv=0 limit=500',
      'list rv= limit=500 continue=token',
      'watch rv=10',
      'list rv=10 limit=500',
    ]);
    expect(calls).toEqual(['add a@1 initial', 'add b@2 initial']);
    await stop();
  });

  it('[runtime#68a] given a first list that has to be current, then it is asked for without a version, and a relist with the last one', async () => {
    const { api, clock, start, stop } = scriptedInformer({ streaming: 'off', firstLists: 'current' });
    const watch = new ScriptedBody();
    api.answers(listPage([aVolume('a', '1')], { resourceVersion: '10' }), watch);
    await start();
    watch.refuse(collectionErrors.expired);
    await clock.advance(800);
    expect(api.summaries).toEqual(['list rv= limit=500', 'watch rv=10', 'list rv=10']);
    await stop();
  });

  it('[runtime#69] given a relist at a version that is gone, then one list without a version follows at once', async () => {
    const { api, clock, start, stop } = scriptedInformer({ streaming: 'off' });
    const watch = new ScriptedBody();
    api.answers(listPage([], { resourceVersion: '10' }), watch, collectionErrors.expired, collectionErrors.expired);
    await start();
    watch.refuse(collectionErrors.expired);
    await clock.advance(800);
    expect(api.summaries).toEqual(['list rv=0 limit=500', 'watch rv=10', 'list rv=10', 'list rv= limit=500']);
    await stop();
  });

  it('[runtime#70] given a second page that has collectionErrors.expired, then the whole list is read at the version first asked for', async () => {
    const { api, calls, clock, start, stop } = scriptedInformer({ streaming: 'off', pageSize: 4 });
    const watch = new ScriptedBody();
    api.answers(listPage([], { resourceVersion: '10' }), watch);
    api.answers(listPage([aVolume('stale', '11')], { resourceVersion: '12', next: 'token' }), collectionErrors.expired);
    api.answers(listPage([aVolume('a', '13')], { resourceVersion: '14' }));
    await start();
    watch.refuse(collectionErrors.expired);
    await clock.advance(800);
    expect(api.summaries.slice(2)).toEqual([
      'list rv=10 limit=4',
      'list rv= limit=4 continue=token',
      'list rv=10',
      'watch rv=14',
    ]);
    expect(calls).toEqual(['add a@13']);
    await stop();
  });

  const timeout = { status: 504, reason: 'Timeout', message: 'timed out' };
  it.each([
    { dialect: 'a cause with a reason', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] }, message: 'x' },
    {
      dialect: 'a cause with a message',
      details: { causes: [{ message: 'Too large resource version' }] },
      message: 'x',
    },
    { dialect: 'a message', details: undefined, message: 'Timeout: Too large resource version: 10, current: 5' },
  ])(
    '[runtime#71] given a version too large, calls by $dialect, then one list without a version follows at once',
    async (error) => {
      const { api, clock, start, stop } = scriptedInformer({ streaming: 'off' });
      const watch = new ScriptedBody();
      api.answers(listPage([], { resourceVersion: '10' }), watch, new ApiError({ ...timeout, ...error }));
      await start();
      watch.refuse(collectionErrors.expired);
      await clock.advance(800);
      expect(api.summaries.slice(2)).toEqual(['list rv=10', 'list rv= limit=500']);
      await stop();
    },
  );

  it('[runtime#72] given pages of different versions, then the first one is that of the list', async () => {
    const { api, informer, start, stop } = scriptedInformer({ streaming: 'off' });
    api.answers(listPage([], { resourceVersion: '10', next: 't' }), listPage([], { resourceVersion: '15' }));
    await start();
    expect(api.summaries.at(-1)).toBe('watch rv=10');
    expect(informer.lister.resourceVersion).toBe('10');
    await stop();
  });

  it('[runtime#93c] given a list cut in the middle, then the store stays as it was and the backoff begins', async () => {
    const harness = scriptedInformer({ streaming: 'off' });
    const { api, informer, calls, clock, start, stop } = harness;
    const watch = new ScriptedBody();
    const whole = JSON.stringify({
      metadata: { resourceVersion: '12' },
      items: [aVolume('b', '11'), aVolume('c', '12')],
    });
    api.answers(
      listPage([aVolume('a', '1')], { resourceVersion: '10' }),
      watch,
      new ScriptedBody().write(whole.slice(0, -40)).end(),
    );
    await start();
    watch.refuse(collectionErrors.expired);
    await clock.advance(800);
    expect(calls).toEqual(['add a@1 initial']);
    expect(informer.lister.list().map(({ metadata }) => metadata?.name)).toEqual(['a']);
    expect(errorLines(harness)).toBe(1);
    await clock.advance(1599);
    expect(api.summaries).toHaveLength(3);
    await clock.advance(1);
    expect(api.summaries.at(-1)).toBe('list rv=10');
    await stop();
  });

  it('given a Table for a list, then it is an error', async () => {
    const harness = scriptedInformer({ streaming: 'off' });
    harness.api.answers(
      new ScriptedBody().write('{"kind":"Table","metadata":{"resourceVersion":"1"},"rows":[]}').end(),
    );
    await harness.start();
    expect(errorLines(harness)).toBe(1);
    expect(harness.informer.hasSynced).toBe(false);
    await harness.stop();
  });
});

describe('relists', () => {
  /** Synced at 10 with these volumes, then the watch expires, which leads to `again`. */
  const relisted = async (before: readonly object[], again: ScriptedBody): Promise<ScriptedInformer> => {
    const harness = scriptedInformer();
    harness.api.answers(syncedStream('10', ...before).refuse(collectionErrors.expired), again);
    await harness.start();
    (harness.calls as string[]).length = 0;
    await harness.clock.advance(800);
    return harness;
  };

  it('[runtime#67] given a server restored to an older state, then the version goes back and what vanished is deleted', async () => {
    const { api, informer, calls, clock, start, stop } = scriptedInformer();
    const tooLarge = new ApiError({
      status: 504,
      reason: 'Timeout',
      message: 'Too large resource version: 100, current: 50',
    });
    api.answers(syncedStream('100', aVolume('a', '90'), aVolume('b', '95')).refuse(collectionErrors.expired));
    api.answers(tooLarge, syncedStream('50', aVolume('a', '40')));
    await start();
    await clock.advance(800);
    expect(api.summaries).toEqual(['stream rv=', 'stream rv=100', 'stream rv=']);
    expect(calls.slice(2)).toEqual(['tombstone b@95', 'update a@90->40']);
    expect(informer.lister.resourceVersion).toBe('50');
    await stop();
  });

  it('[runtime#85] given one object deleted and one created meanwhile, then the deletion is reported first', async () => {
    const { calls, stop } = await relisted([aVolume('a', '5')], syncedStream('20', aVolume('b', '15')));
    expect(calls).toEqual(['tombstone a@5', 'add b@15']);
    await stop();
  });

  it('[runtime#86] given the same name with another uid, then the old one is deleted and the new one added', async () => {
    const again = aVolume('a', '15', { uid: 'other' });
    const { calls, stop } = await relisted(
      [aVolume('a', '5'), aVolume('b', '6')],
      syncedStream('20', again, aVolume('b', '6')),
    );
    expect(calls).toEqual(['tombstone a@5', 'add a@15']);
    await stop();
  });

  it('[runtime#87] given identical objects, then no handler is called and the cached objects stay the same', async () => {
    const volumes = [aVolume('a', '5'), aVolume('b', '6')];
    const { api, informer, calls, clock, start, stop } = scriptedInformer();
    const first = syncedStream('10', ...volumes);
    api.answers(first, syncedStream('20', ...volumes));
    await start();
    const before = informer.lister.list();
    first.refuse(collectionErrors.expired);
    await clock.advance(800);
    expect(api.summaries).toHaveLength(2);
    expect(calls).toEqual(['add a@5 initial', 'add b@6 initial']);
    expect(informer.lister.list().every((object, n) => object === before[n])).toBe(true);
    expect(informer.lister.resourceVersion).toBe('20');
    await stop();
  });
});
