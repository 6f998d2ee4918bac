// SPDX-License-Identifier: Apache-2.0
/** How a driver that does not list is asked: every volume once in an interval, evenly spread, at most ten calls a second. */
import { describe, expect, it } from 'vitest';
import { walkFlow } from '@csi-sidecars/runtime/testing';
import { aPair, aVolume, degraded } from '../../testing/builders.ts';
import { aMonitor, type Fixture } from '../../testing/monitor-fixture.ts';
import { askAboutBound } from './loop.ts';

const volumes = (count: number) => Array.from({ length: count }, (_, n) => aPair(n + 1)).flat();
const duration = 'csi_sidecars_health_cycle_seconds';

/** When each call began, with the name of its volume. */
function timed(m: Fixture, latencyMs = 0) {
  const calls: { readonly atMs: number; readonly handle: string }[] = [];
  const underWay = { now: 0, most: 0 };
  m.channel.answer('/csi.v1.Controller/ControllerGetVolumeHealth', async ({ volume_id: handle }) => {
    calls.push({ atMs: m.clock.monotonicMs(), handle });
    underWay.now += 1;
    underWay.most = Math.max(underWay.most, underWay.now);
    if (latencyMs > 0) await m.clock.sleep(latencyMs);
    underWay.now -= 1;
    return { volume_health: { volume_id: handle, health_statuses: handle === 'volume-7' ? degraded : [] } };
  });
  return { calls, underWay };
}

const gapsOf = (times: readonly number[]): readonly number[] =>
  times.slice(1).map((atMs, place) => atMs - (times[place] ?? 0));

describe('a round', () => {
  it('given sixty volumes and an interval of a minute, then each is asked about once in it, about a second apart', async () => {
    const m = await aMonitor({ mode: 'get', seed: volumes(60) });
    const { calls } = timed(m);
    await m.clock.advance(180_000);
    const gaps = gapsOf(calls.map(({ atMs }) => atMs));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(900);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1_000);
    const ofOne = calls.filter(({ handle }) => handle === 'volume-30').map(({ atMs }) => atMs);
    expect(Math.max(...gapsOf(ofOne))).toBeLessThanOrEqual(60_000);
    expect(m.metrics.value(duration)).toBeGreaterThan(53);
    expect(m.metrics.value(duration)).toBeLessThanOrEqual(60);
  });

  it('given 1,500 volumes and an interval of a minute, then ten are asked about in a second, unhealthy ones in each interval, and a gauge shows the round', async () => {
    const m = await aMonitor({ mode: 'get', seed: volumes(1_500) });
    const { calls } = timed(m);
    await m.clock.advance(400_000);
    const times = calls.map(({ atMs }) => atMs);
    expect(Math.min(...gapsOf(times))).toBeGreaterThanOrEqual(100);
    expect(times.filter((atMs) => atMs >= 200_000 && atMs < 210_000).length).toBeGreaterThanOrEqual(99);
    const gapOf = (name: string) =>
      Math.max(...gapsOf(calls.filter(({ handle }) => handle === name).map(({ atMs }) => atMs)));
    expect(gapOf('volume-7')).toBeLessThanOrEqual(60_500);
    expect(gapOf('volume-8')).toBeGreaterThanOrEqual(150_000);
    expect(m.metrics.value(duration)).toBeGreaterThanOrEqual(150);
    expect(m.metrics.value(duration)).toBeLessThan(152);
  });

  it('given a slow driver, then no more calls are under way than there are workers', async () => {
    const m = await aMonitor({ mode: 'get', seed: volumes(600), settings: { workerThreads: 3 } });
    const { underWay } = timed(m, 5_000);
    await m.clock.advance(60_000);
    expect(underWay.most).toBe(3);
  });

  it.each([0, -1])(
    'given an interval of %s, then ten calls a second are made and no more',
    async (monitorIntervalMs) => {
      const m = await aMonitor({ mode: 'get', settings: { monitorIntervalMs } });
      await m.clock.advance(10_000);
      expect(m.asked().length).toBeGreaterThan(90);
      expect(m.asked().length).toBeLessThanOrEqual(101);
    },
  );

  it('given healthy volumes, then no claim is looked at, and nothing is remembered', async () => {
    const m = await aMonitor({ mode: 'get', seed: volumes(5) });
    await m.cycle();
    expect(m.asked().length).toBeGreaterThanOrEqual(5);
    expect(m.logger.lines.filter(({ message }) => message === 'Decided')).toEqual([]);
  });

  it('given no volumes, then nothing is asked, and the next round comes', async () => {
    const m = await aMonitor({ mode: 'get', seed: [] });
    await m.clock.advance(120_000);
    expect(m.asked()).toEqual([]);
    for (const object of aPair(1)) m.server.seed(object);
    await m.cycle();
    expect(m.asked().length).toBeGreaterThan(0);
  });
});

describe('a volume that becomes Bound', () => {
  it('[health-monitor#G1] given a volume that is not Bound any more, then nothing is asked', async () => {
    expect(await walkFlow(askAboutBound(aVolume({ phase: 'Released' })), {})).toMatchObject({
      steps: [],
      conclusion: { row: 'G1' },
    });
  });

  it('[health-monitor#G2] given a Bound volume, then the driver is asked about its handle', async () => {
    const walk = await walkFlow(askAboutBound(aVolume()), { beginQuestion: undefined });
    expect([walk.steps, walk.said('beginQuestion'), walk.conclusion.row]).toEqual([
      ['G2 beginQuestion'],
      [['volume-1']],
      'G2',
    ]);
  });
});
