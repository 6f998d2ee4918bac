// SPDX-License-Identifier: Apache-2.0
/** How long the reflector waits. */
import { describe, expect, it } from 'vitest';
import { FakeClock, collectionErrors, scriptedInformer, syncedStream } from '../../../testing/index.ts';
import { ApiError } from '../../api/errors.ts';
import { TransportError } from '../../api/transport.ts';

const refused = new TransportError('refused', 'connect ECONNREFUSED');

describe('pauses', () => {
  it('[runtime#89] given a stop during a backoff, then it ends at once and leaves no timer', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    api.answers(refused);
    await start();
    expect(clock.pending).toBe(1);
    await stop();
    expect(clock.pending).toBe(0);
    expect(api.summaries).toHaveLength(1);
  });

  it('[runtime#90] given failures without end, then the backoff stays at its cap; a watch of a minute resets it', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    api.answers(...Array.from({ length: 20 }, () => collectionErrors.busy));
    await start();
    let requests = 1;
    for (const backoffMs of [800, 1600, 3200, 6400, 12_800, 25_600, ...Array.from({ length: 14 }, () => 30_000)]) {
      await clock.advance(backoffMs - 1);
      expect(api.summaries).toHaveLength(requests);
      await clock.advance(1);
      requests += 1;
      expect(api.summaries).toHaveLength(requests);
      if (requests === 20) api.answers(syncedStream('10').refuse(collectionErrors.expired), syncedStream('10'));
    }
    // A watch that was synced for a moment only does not reset the backoff: the next pause is the cap again.
    await clock.advance(29_999);
    expect(api.summaries).toHaveLength(21);
    await clock.advance(1);
    expect(api.summaries).toHaveLength(22);
    await stop();

    const healthy = scriptedInformer();
    const watch = syncedStream('10');
    healthy.api.answers(collectionErrors.busy, collectionErrors.busy, watch);
    await healthy.start();
    await healthy.clock.advance(800);
    await healthy.clock.advance(1600);
    await healthy.clock.advance(60_000);
    watch.refuse(collectionErrors.expired);
    await healthy.clock.advance(800);
    expect(healthy.api.summaries).toHaveLength(4);
    await healthy.stop();
  });

  it.each([
    { asked: 7, pausedMs: 7000 },
    { asked: 0.5, pausedMs: 800 },
    { asked: 86_400, pausedMs: 300_000 },
  ])(
    '[runtime#71b] given a 429 that still asks to wait for $asked s after the last retry of the client, then the pause is $pausedMs ms',
    async ({ asked, pausedMs }) => {
      const { api, clock, start, stop } = scriptedInformer();
      const details = { retryAfterSeconds: asked };
      api.answers(
        new ApiError({ status: 429, reason: 'TooManyRequests', message: 'busy', details }),
        syncedStream('10'),
      );
      await start();
      await clock.advance(pausedMs - 1);
      expect(api.summaries).toEqual(['stream rv=']);
      await clock.advance(1);
      expect(api.summaries).toEqual(['stream rv=', 'stream rv=']);
      await stop();
    },
  );

  it('[runtime#91] given ten watches that close at once, then they are reopened over a second, none within the first', async () => {
    const clock = new FakeClock();
    const informers = Array.from({ length: 10 }, (_, n) =>
      scriptedInformer({ clock, random: { next: () => n / 10, uuid: () => '' } }),
    );
    for (const { api, start } of informers) {
      api.answers(syncedStream('10').end());
      await start();
    }
    await clock.advance(2500);
    const reopened = informers.flatMap(({ api }) => api.requests.slice(1).map(({ atMs }) => atMs));
    expect(reopened).toEqual([1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900]);
    await Promise.all(informers.map(({ stop }) => stop()));
  });

  it('[runtime#92] given wall clocks that jump, then pauses and guards last as long as before', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    const first = syncedStream('10');
    api.answers(refused, first);
    await start();
    clock.shiftWallClock(3_600_000);
    await clock.advance(799);
    expect(api.summaries).toHaveLength(1);
    await clock.advance(1);
    clock.shiftWallClock(-7_200_000);
    await clock.advance(329_999);
    expect(first.closed).toBe(false);
    await clock.advance(1);
    expect(first.closed).toBe(true);
    await stop();
  });
});
