// SPDX-License-Identifier: Apache-2.0
/** How watches end, and what the reflector does about it. */
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
import { TransportError } from '../../api/transport.ts';

const refused = new TransportError('refused', 'connect ECONNREFUSED');

const errorLines = ({ logger }: ScriptedInformer): number => logger.lines.filter(({ kind }) => kind === 'error').length;

describe('watches that end', () => {
  it('[runtime#75] given a close after the timeout, then the watch is reopened at once from the last version', async () => {
    const { api, calls, clock, start, stop } = scriptedInformer();
    const first = syncedStream('10');
    api.answers(first);
    await start();
    await clock.advance(300_000);
    first.end();
    await clock.advance(0);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=10']);
    expect(calls).toEqual([]);
    await stop();
  });

  it('[runtime#76] given watches that end at once without an event, then each is relisted with growing backoff', async () => {
    const { api, clock, start, stop } = scriptedInformer({ streaming: 'off' });
    for (let n = 0; n < 4; n += 1) api.answers(listPage([], { resourceVersion: '10' }), new ScriptedBody().end());
    await start();
    expect(api.summaries).toHaveLength(2);
    for (const [backoffMs, requests] of [
      [800, 4],
      [1600, 6],
      [3200, 8],
      [6400, 9],
    ] as const) {
      await clock.advance(backoffMs - 1);
      expect(api.summaries).toHaveLength(requests - (requests === 9 ? 1 : 2));
      await clock.advance(1);
      expect(api.summaries).toHaveLength(requests);
    }
    await stop();
  });

  it('[runtime#77] given ERROR 410, then after a backoff step the stream asks for the last version first', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    api.answers(syncedStream('10').refuse(collectionErrors.expired));
    await start();
    await clock.advance(799);
    expect(api.summaries).toEqual(['stream rv=']);
    await clock.advance(1);
    expect(api.summaries).toEqual(['stream rv=', 'stream rv=10']);
    await stop();
  });

  it('[runtime#78] given ERROR 429, then after a backoff step the watch goes on, and one list was enough', async () => {
    const { api, clock, start, stop } = scriptedInformer({ streaming: 'off' });
    api.answers(listPage([], { resourceVersion: '10' }), new ScriptedBody().refuse(collectionErrors.busy));
    await start();
    await clock.advance(799);
    expect(api.summaries).toHaveLength(2);
    await clock.advance(1);
    expect(api.summaries).toEqual(['list rv=0 limit=500', 'watch rv=10', 'watch rv=10']);
    await stop();
  });

  it('[runtime#79] given 429 for five watches, then five backoff steps and one list in total', async () => {
    const { api, clock, start, stop } = scriptedInformer({ streaming: 'off' });
    api.answers(
      listPage([], { resourceVersion: '10' }),
      collectionErrors.busy,
      collectionErrors.busy,
      collectionErrors.busy,
      collectionErrors.busy,
      collectionErrors.busy,
    );
    await start();
    for (const [n, backoffMs] of [800, 1600, 3200, 6400, 12_800].entries()) {
      await clock.advance(backoffMs - 1);
      expect(api.summaries).toHaveLength(n + 2);
      await clock.advance(1);
      expect(api.summaries).toHaveLength(n + 3);
    }
    expect(api.summaries.filter((summary) => summary.startsWith('list'))).toHaveLength(1);
    await stop();
  });

  it('[runtime#80] given refused connections for 10 minutes, then requests follow the backoff, and nothing is listed afterwards', async () => {
    const { api, calls, clock, start, stop } = scriptedInformer();
    const first = syncedStream('10');
    api.answers(first);
    await start();
    await clock.advance(300_000);
    api.answers(...Array.from({ length: 24 }, () => refused), new ScriptedBody().event('ADDED', aVolume('a', '11')));
    first.fail(new TransportError('reset', 'gone'));
    await clock.advance(0);
    // 0.8 to 25.6 s are six steps of together 50.4 s, then every 30 s.
    await clock.advance(600_000);
    expect(api.summaries.slice(1)).toEqual(Array.from({ length: 25 }, () => 'watch rv=10'));
    await clock.advance(30_000);
    expect(calls).toEqual(['add a@11']);
    expect(api.summaries.every((summary) => !summary.startsWith('list'))).toBe(true);
    await stop();
  });

  it('[runtime#81] given a server restart with the version compacted away, then one relist', async () => {
    const { api, calls, clock, start, stop } = scriptedInformer();
    const first = syncedStream('10', aVolume('a', '5'));
    api.answers(
      first,
      collectionErrors.expired,
      collectionErrors.expired,
      syncedStream('50', aVolume('a', '5'), aVolume('b', '40')),
    );
    await start();
    await clock.advance(300_000);
    first.fail(new TransportError('eof', 'closed'));
    await clock.advance(0);
    await clock.advance(800);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=10', 'stream rv=10', 'stream rv=']);
    expect(calls).toEqual(['add a@5 initial', 'add b@40']);
    await stop();
  });

  it.each(['reset', 'eof', 'timeout', 'lookup', 'tls'] as const)(
    'given a watch that gets no answer (%s), then it is asked for again and nothing is listed',
    async (failure) => {
      const { api, clock, start, stop } = scriptedInformer({ streaming: 'off' });
      api.answers(listPage([], { resourceVersion: '10' }), new TransportError(failure, 'no answer'));
      await start();
      await clock.advance(800);
      expect(api.summaries).toEqual(['list rv=0 limit=500', 'watch rv=10', 'watch rv=10']);
      await stop();
    },
  );

  it('given three watches in a row that end with an internal error, then the fourth is relisted', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    const fault = new ApiError({ status: 500, reason: 'InternalError', message: 'etcdserver: no leader' });
    api.answers(syncedStream('10').event('ERROR', fault));
    for (let n = 0; n < 3; n += 1) api.answers(new ScriptedBody().event('ERROR', fault));
    await start();
    for (const backoffMs of [800, 1600, 3200, 6400]) await clock.advance(backoffMs);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=10', 'watch rv=10', 'watch rv=10', 'stream rv=10']);
    await stop();
  });

  it('given a stream still open 30 s after its timeout, then it is given up and reopened', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    const first = syncedStream('10');
    api.answers(first);
    await start();
    await clock.advance(329_999);
    expect(first.closed).toBe(false);
    await clock.advance(1);
    expect(first.closed).toBe(true);
    await clock.advance(0);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=10']);
    await stop();
  });

  it('given bookmarks that stop coming, then the stream is given up after 150 s of silence', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    const first = syncedStream('10').bookmark('20');
    api.answers(first);
    await start();
    await clock.advance(149_999);
    expect(api.summaries).toEqual(['stream rv=']);
    await clock.advance(1);
    await clock.advance(0);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=20']);
    await stop();
  });

  it('given bookmarks that come late but come, then the stream stays, and 150 s after the last of them it is given up', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    const first = syncedStream('10').bookmark('20');
    api.answers(first);
    await start();
    await clock.advance(100_000);
    first.bookmark('30');
    await clock.advance(149_999);
    expect([first.closed, api.summaries]).toEqual([false, ['stream rv=']]);
    await clock.advance(1);
    await clock.advance(0);
    expect([first.closed, api.summaries]).toEqual([true, ['stream rv=', 'watch rv=30']]);
    await stop();
    expect(clock.pending).toBe(0);
  });

  it('[runtime#93] given a list without a version, then ADDED events do not move it, and the first other event does', async () => {
    const { api, clock, start, stop } = scriptedInformer({ streaming: 'off' });
    const first = new ScriptedBody().event('ADDED', aVolume('a', '7')).end();
    const second = new ScriptedBody()
      .event('ADDED', aVolume('b', '8'))
      .event('MODIFIED', aVolume('a', '9'))
      .event('ADDED', aVolume('c', '10'));
    api.answers(listPage([], { resourceVersion: '' }), first, second.end());
    await start();
    await clock.advance(1000);
    await clock.advance(1000);
    expect(api.summaries).toEqual(['list rv=0 limit=500', 'watch rv=', 'watch rv=', 'watch rv=10']);
    await stop();
  });
});

describe('a server that refuses', () => {
  it('[runtime#82] given 403 for lists, then an error is logged per step, nothing is synced, and it goes on', async () => {
    const harness = scriptedInformer();
    const { api, informer, clock, start, stop } = harness;
    api.answers(...Array.from({ length: 6 }, () => collectionErrors.forbidden));
    await start();
    await clock.advance(800);
    await clock.advance(1600);
    expect(api.summaries).toEqual([
      'stream rv=',
      'list rv=0 limit=500',
      'stream rv=',
      'list rv=0 limit=500',
      'stream rv=',
      'list rv=0 limit=500',
    ]);
    expect(errorLines(harness)).toBe(3);
    expect(informer.hasSynced).toBe(false);
    await clock.advance(3200);
    expect(api.summaries).toHaveLength(7);
    await stop();
  });

  it('[runtime#83] given 404 until the resource is installed, then the next step recovers', async () => {
    const harness = scriptedInformer();
    const { api, calls, clock, start, stop } = harness;
    api.answers(collectionErrors.missing, collectionErrors.missing, syncedStream('10', aVolume('a', '5')));
    await start();
    expect(errorLines(harness)).toBe(1);
    await clock.advance(800);
    expect(calls).toEqual(['add a@5 initial']);
    await stop();
  });

  it('[runtime#84] given the resource is removed while watched, then the cache keeps its content', async () => {
    const { api, informer, calls, clock, start, stop } = scriptedInformer();
    const first = syncedStream('10', aVolume('a', '5'));
    api.answers(
      first,
      collectionErrors.missing,
      collectionErrors.missing,
      collectionErrors.missing,
      collectionErrors.missing,
      collectionErrors.missing,
    );
    await start();
    await clock.advance(5000);
    first.end();
    await clock.advance(0);
    await clock.advance(800);
    await clock.advance(1600);
    expect(api.summaries.slice(1)).toEqual(['watch rv=10', 'stream rv=10', 'list rv=10', 'stream rv=10', 'list rv=10']);
    expect(calls).toEqual(['add a@5 initial']);
    expect(informer.lister.size).toBe(1);
    await stop();
  });
});
