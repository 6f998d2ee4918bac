// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import {
  aVolume,
  FakeClock,
  recordingLogger,
  collectionErrors,
  scriptedInformer,
  syncedStream,
  recordCallsTo,
} from '../../testing/index.ts';
import { createResync } from './resync.ts';

const minute = 60_000;
/** Fires of each handler: `name@minutes`. */
function schedule(periodMs: number) {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const fired: string[] = [];
  const spreads: number[] = [];
  const resync = createResync<string>(
    { clock, logger },
    {
      periodMs,
      onDue: ({ due, spreadMs }) => {
        spreads.push(spreadMs);
        for (const id of due) fired.push(`${id}@${clock.monotonicMs() / minute}`);
      },
    },
  );
  const warned = () => logger.lines.map(({ kind, message, facts }) => ({ kind, message, facts }));
  return { clock, resync, fired, warned, warnings: () => warned().length, spreads };
}

/** A handler that is called every ten minutes, nine minutes after the watch has begun. */
async function almostDue() {
  const scheduled = schedule(10 * minute);
  scheduled.resync.register('ten', undefined);
  scheduled.resync.start();
  scheduled.resync.setConnection('live');
  await scheduled.clock.advance(9 * minute);
  return scheduled;
}

describe('resync periods', () => {
  it('given handlers with their own periods, then each is called at its time', async () => {
    const { clock, resync, fired } = schedule(10 * minute);
    resync.register('ten', undefined);
    resync.register('twenty', 20 * minute);
    resync.register('never', 0);
    resync.start();
    resync.setConnection('live');
    await clock.advance(40 * minute);
    expect(fired).toEqual(['ten@10', 'ten@20', 'twenty@20', 'ten@30', 'ten@40', 'twenty@40']);
  });

  it('given a check at which no handler is due, then there is no round', async () => {
    const { clock, resync, fired, spreads } = schedule(10 * minute);
    resync.register('twenty', 20 * minute);
    resync.start();
    resync.setConnection('live');
    await clock.advance(40 * minute);
    expect([fired, spreads.length]).toEqual([['twenty@20', 'twenty@40'], 2]);
  });

  it.each([
    { minutes: 4, spreadMs: 24_000 },
    { minutes: 20, spreadMs: 60_000 },
  ])(
    'given a check every $minutes minutes, then its calls are spread over $spreadMs ms',
    async ({ minutes, spreadMs }) => {
      const { clock, resync, spreads } = schedule(minutes * minute);
      resync.register('one', undefined);
      resync.start();
      resync.setConnection('live');
      await clock.advance(minutes * minute);
      expect(spreads).toEqual([spreadMs]);
    },
  );

  it.each([
    { lateMs: 100, then: 'called with it', firedAt: ['late@10', 'late@20'] },
    { lateMs: 101, then: 'called at the next one', firedAt: ['late@20'] },
  ])('given a handler that is due $lateMs ms after a check, then it is $then', async ({ lateMs, firedAt }) => {
    const { clock, resync, fired } = schedule(10 * minute);
    resync.start();
    resync.setConnection('live');
    await clock.advance(lateMs);
    resync.register('late', undefined);
    await clock.advanceTo(20 * minute);
    expect(fired).toEqual(firedAt);
  });

  it('given a shorter period before the start, then the check is made that often, and the others keep theirs', async () => {
    const { clock, resync, fired, warnings } = schedule(10 * minute);
    resync.register('ten', undefined);
    resync.register('five', 5 * minute);
    resync.start();
    resync.setConnection('live');
    await clock.advance(10 * minute);
    expect(fired).toEqual(['five@5', 'ten@10', 'five@10']);
    expect(warnings()).toBe(0);
  });

  it('given a shorter period some time before the start, then the periods of the others begin again', async () => {
    const { clock, resync, fired } = schedule(10 * minute);
    resync.register('ten', undefined);
    await clock.advance(5 * minute);
    resync.register('five', 5 * minute);
    resync.start();
    resync.setConnection('live');
    await clock.advance(10 * minute);
    expect(fired).toEqual(['five@10', 'ten@15', 'five@15']);
  });

  it.each([1, 500])(
    '[runtime#104] given a period of %d ms, then it is raised to a second, with a warning',
    async (ms) => {
      const { clock, resync, fired, warned } = schedule(10 * minute);
      resync.register('fast', ms);
      resync.register('a second', 1_000);
      resync.start();
      resync.setConnection('live');
      await clock.advance(2000);
      expect(fired).toHaveLength(4);
      const message = 'resyncPeriod is too small, changing it to the minimum allowed value';
      expect(warned()).toEqual([{ kind: 'warn', message, facts: { resyncPeriodMs: ms, minimumMs: 1_000 } }]);
    },
  );

  it('given an informer with a period of a millisecond, then its handlers are called every second, with a warning', async () => {
    const { clock, resync, fired, warnings } = schedule(1);
    resync.register('fast', undefined);
    resync.start();
    resync.setConnection('live');
    await clock.advance(2000);
    expect([fired.length, warnings()]).toEqual([2, 1]);
  });

  it('[runtime#105] given a shorter period after the start, then it is raised to the check period, with a warning', async () => {
    const { clock, resync, fired, warned } = schedule(10 * minute);
    resync.start();
    resync.setConnection('live');
    await clock.advance(4 * minute);
    resync.register('late', 5 * minute);
    resync.register('as often as the check', 10 * minute);
    await clock.advance(16 * minute);
    expect(fired).toEqual(['late@20', 'as often as the check@20']);
    const message = 'resyncPeriod is smaller than resyncCheckPeriod and the informer has already started, changing it';
    const facts = { resyncPeriodMs: 5 * minute, resyncCheckPeriodMs: 10 * minute };
    expect(warned()).toEqual([{ kind: 'warn', message, facts }]);
  });

  it('given an informer without resync, then a handler gets none, with a warning', async () => {
    const { clock, resync, fired, warned } = schedule(0);
    resync.register('content', undefined);
    resync.register('wishful', 5 * minute);
    resync.start();
    resync.setConnection('live');
    await clock.advance(60 * minute);
    expect(fired).toEqual([]);
    const message = 'The specified resyncPeriod is invalid because this informer does not resync';
    expect(warned()).toEqual([{ kind: 'warn', message, facts: { requestedMs: 5 * minute } }]);
    expect(clock.pending).toBe(0);
  });

  it('given an interruption when the timer fires, then no handler is called, and the timer restarts with the next watch', async () => {
    const { clock, resync, fired } = await almostDue();
    resync.setConnection('interrupted');
    await clock.advance(2 * minute);
    resync.setConnection('interrupted');
    await clock.advance(3 * minute);
    resync.setConnection('live');
    await clock.advance(10 * minute);
    expect(fired).toEqual(['ten@24']);
  });

  it('given a short interruption between two firings, then the timer goes on', async () => {
    const { clock, resync, fired } = await almostDue();
    resync.setConnection('interrupted');
    resync.setConnection('live');
    await clock.advance(minute);
    expect(fired).toEqual(['ten@10']);
  });

  it('[runtime#88] given a connection that is lost and back before the timer fires, then the timer has started over', async () => {
    const { clock, resync, fired } = await almostDue();
    resync.setConnection('lost');
    resync.setConnection('live');
    await clock.advance(9 * minute);
    expect(fired).toEqual([]);
    await clock.advance(minute);
    expect(fired).toEqual(['ten@19']);
  });
});

describe('resync of an informer', () => {
  it('[runtime#88] given a lost connection, then no resync fires, and the timer restarts when the watch is back', async () => {
    const { api, clock, calls, start, stop } = scriptedInformer({
      resyncMs: 10 * minute,
      random: { next: () => 0.999, uuid: () => '' },
    });
    const first = syncedStream('10', aVolume('a', '5'));
    api.answers(first, ...Array.from({ length: 40 }, () => collectionErrors.forbidden));
    await start();
    await clock.advance(9 * minute);
    first.refuse(collectionErrors.expired);
    // Twice the period: a resync would be due at ten and at twenty minutes.
    await clock.advance(16 * minute);
    expect(calls).toEqual(['add a@5 initial']);
    const lost = api.summaries.length;
    api.answers(syncedStream('10', aVolume('a', '5')));
    while (api.summaries.length < 42) await clock.advance(1000);
    expect(lost).toBeGreaterThan(4);
    const backAt = clock.monotonicMs();
    await clock.advanceTo(backAt + 9 * minute);
    expect(calls).toEqual(['add a@5 initial']);
    await clock.advance(minute);
    expect(calls).toEqual(['add a@5 initial', 'update a@5->5']);
    await stop();
    expect(clock.pending).toBe(0);
  });

  it('[runtime#106] given no resync period, then neither relists of equal versions nor time call a handler', async () => {
    const { api, clock, calls, start, stop } = scriptedInformer();
    api.answers(
      syncedStream('10', aVolume('a', '5')).refuse(collectionErrors.expired),
      syncedStream('10', aVolume('a', '5')),
    );
    await start();
    await clock.advance(60 * minute);
    expect(api.summaries.slice(0, 2)).toEqual(['stream rv=', 'stream rv=10']);
    expect(calls).toEqual(['add a@5 initial']);
    await stop();
  });

  it('given two handlers with different periods, then only the one that is due is called', async () => {
    const { api, clock, informer, calls, start, stop } = scriptedInformer({ resyncMs: 4 * minute });
    const rare: string[] = [];
    informer.addHandler(recordCallsTo(rare), { resyncMs: 8 * minute });
    api.answers(syncedStream('10', aVolume('a', '5')));
    await start();
    await clock.advance(4 * minute);
    expect(calls).toEqual(['add a@5 initial', 'update a@5->5']);
    expect(rare).toEqual(['add a@5 initial']);
    await stop();
  });

  it('given more than 1000 objects, then a resync is spread over a tenth of the period, and changes pass in between', async () => {
    const { api, clock, calls, start, stop } = scriptedInformer({ resyncMs: 4 * minute });
    const volumes = Array.from({ length: 2000 }, (_, n) => aVolume(`pv-${n}`, `${n + 1}`));
    const watch = syncedStream('10', ...volumes);
    api.answers(watch);
    await start();
    expect(calls).toHaveLength(2000);
    await clock.advance(4 * minute);
    expect(calls).toHaveLength(2500);
    watch.event('MODIFIED', aVolume('pv-1999', '3000'));
    await clock.advance(0);
    expect(calls.at(-1)).toBe('update pv-1999@2000->3000');
    await clock.advance(5_999);
    expect(calls).toHaveLength(2501);
    await clock.advance(1);
    expect(calls).toHaveLength(3001);
    await clock.advance(12_000);
    expect(calls).toHaveLength(4001);
    expect(calls.at(-1)).toBe('update pv-1999@3000->3000');
    await stop();
    expect(clock.pending).toBe(0);
  });
});
