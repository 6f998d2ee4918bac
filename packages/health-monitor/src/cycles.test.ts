// SPDX-License-Identifier: Apache-2.0
/** Cycles over the list of the driver: what follows from absence, and from lists that are not whole. */
import { csiError } from '@csi-sidecars/csi/testing';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aPair,
  aVolume,
  degraded,
  inaccessible,
  storedDegraded,
  storedInaccessible,
} from '../testing/builders.ts';
import { aMonitor } from '../testing/monitor-fixture.ts';

const unhealthy = [aVolume(), aClaim({ health: storedDegraded })];
const entry = (handle: string, health_statuses = degraded) => ({ volume_id: handle, health_statuses });
const broken = csiError('Internal', 'broken');
const list = { method: 'ControllerListVolumeHealth' };

describe('which questions are asked', () => {
  it('[health-monitor#1] given a driver that does not list, then it is never asked for a list', async () => {
    const m = await aMonitor({ mode: 'get' });
    await m.cycle();
    expect(new Set(m.asked())).toEqual(new Set(['Get volume-1']));
  });

  it('[health-monitor#2] given a driver that lists, then it lists in each interval, and is asked about absent unhealthy volumes only', async () => {
    const m = await aMonitor({ seed: [...unhealthy, ...aPair(2)], reports: { 'volume-2': degraded } });
    await m.cycle();
    expect(m.asked()).toEqual(['List', 'Get volume-1', 'List']);
  });

  it('[health-monitor#36] given ten thousand healthy volumes that are absent, then none is asked about', async () => {
    const seed = Array.from({ length: 10_000 }, (_, n) => aPair(n + 1)).flat();
    const m = await aMonitor({ seed });
    await m.cycle();
    expect([m.asked(), m.writes()]).toEqual([['List', 'List'], []]);
  });

  it('[health-monitor#37] given a claim with health, an earlier process, and a list without the volume, then it is asked about once', async () => {
    const m = await aMonitor({ seed: unhealthy });
    await m.cycle();
    expect(m.asked()).toEqual(['List', 'Get volume-1', 'List']);
  });
});

describe('an unhealthy volume that is absent from a whole list', () => {
  it('[health-monitor#33] given the driver reports it as healthy, then its health is removed in the same cycle', async () => {
    const m = await aMonitor({ reports: { 'volume-1': degraded } });
    m.report({ 'volume-1': [] });
    await m.cycle();
    expect([m.shown(), m.asked(), m.writes().length]).toEqual([undefined, ['List', 'List', 'Get volume-1'], 2]);
  });

  it('[health-monitor#34] given the driver reports it as unhealthy still, then a patch is sent if that is different', async () => {
    const m = await aMonitor({ reports: { 'volume-1': degraded } });
    m.nextList({});
    await m.cycle();
    expect(m.writes()).toHaveLength(1);
    m.nextList({});
    m.report({ 'volume-1': inaccessible });
    await m.cycle();
    expect([m.writes().length, m.shown()]).toEqual([2, storedInaccessible]);
  });

  it.each(['NotFound', 'Internal', 'Unimplemented'] as const)(
    '[health-monitor#35] given the question fails with %s, then the health stays, and the next cycle asks again',
    async (code) => {
      const m = await aMonitor({ seed: unhealthy, reports: { 'volume-1': csiError(code, 'no') } });
      await m.cycle();
      expect([m.shown(), m.asked(), m.writes()]).toEqual([
        storedDegraded,
        ['List', 'Get volume-1', 'List', 'Get volume-1'],
        [],
      ]);
    },
  );

  it('given many of them, then as many are asked about at once as there are workers', async () => {
    const seed = Array.from({ length: 7 }, (_, n) => {
      const volumeName = `pv${n + 1}`;
      return [aVolume({ name: volumeName }), aClaim({ volumeName, health: storedDegraded })];
    }).flat();
    const m = await aMonitor({ seed, settings: { workerThreads: 3 }, reports: { 'volume-1': degraded } });
    let most = 0;
    let underWay = 0;
    m.channel.answer('/csi.v1.Controller/ControllerGetVolumeHealth', async ({ volume_id }) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await m.clock.sleep(1_000);
      underWay -= 1;
      return { volume_health: { volume_id, health_statuses: degraded } };
    });
    for (const { metadata } of seed.filter(({ kind }) => kind === 'PersistentVolumeClaim'))
      m.changeClaim((claim) => ({ ...claim, status: aClaim({ health: storedDegraded }).status ?? {} }), metadata?.name);
    m.nextList({});
    const before = m.clock.monotonicMs();
    await m.cycle();
    await m.clock.advance(3_000);
    expect(most).toBe(3);
    expect(m.clock.monotonicMs() - before).toBeLessThan(310_000);
  });
});

describe('a list that is not whole', () => {
  it('[health-monitor#38] given a page that fails, then nothing is removed, and unhealthy volumes of the pages before it are shown', async () => {
    const seed = [...unhealthy, ...aPair(2), ...aPair(3)];
    const m = await aMonitor({ seed, reports: { 'volume-1': degraded } });
    m.nextList(
      { entries: [entry('volume-2')], next_token: '1' },
      { entries: [entry('volume-3', inaccessible)], next_token: '2' },
      broken,
    );
    await m.cycle();
    expect([m.shown(), m.shown('data-2'), m.shown('data-3')]).toEqual([
      storedDegraded,
      storedDegraded,
      storedInaccessible,
    ]);
    expect(m.asked()).toEqual(['List', 'List', 'List', 'List']);
    const counted = (result: string) => m.metrics.value('csi_volume_health_probe_total', { ...list, result });
    expect([counted('success'), counted('error')]).toEqual([1, 1]);
    expect(m.metrics.observations('csi_volume_health_probe_duration_seconds', list)).toHaveLength(2);
  });

  it('[health-monitor#39] given a token that expires, then the cycle begins again from the first page, once', async () => {
    const m = await aMonitor();
    const expired = csiError('Aborted', 'the token has expired');
    m.nextList({ next_token: '1' }, expired, { entries: [entry('volume-1')] });
    await m.cycle();
    expect([m.asked().length, m.shown()]).toEqual([4, storedDegraded]);
    m.nextList({ next_token: '1' }, expired, { next_token: '2' }, expired);
    await m.cycle();
    expect([m.asked().length, m.shown()]).toEqual([8, storedDegraded]);
    expect(m.metrics.value('csi_volume_health_probe_total', { ...list, result: 'error' })).toBe(1);
  });

  it('[health-monitor#40] given a token that comes twice, then the cycle ends with an error', async () => {
    const m = await aMonitor({ seed: unhealthy, reports: { 'volume-1': degraded } });
    m.nextList({ next_token: '1' }, { next_token: '2' }, { next_token: '1' });
    await m.cycle();
    expect([m.asked(), m.shown()]).toEqual([['List', 'List', 'List', 'List'], storedDegraded]);
    expect(m.logger.lines).toContainEqual(
      expect.objectContaining({ kind: 'error', message: 'Check controller volume health error' }),
    );
  });

  it('[health-monitor#41] given an empty page with a token, then the next page is read', async () => {
    const m = await aMonitor();
    m.nextList({ next_token: '1' }, { entries: [entry('volume-1')] });
    await m.cycle();
    expect(m.shown()).toEqual(storedDegraded);
  });

  it('[health-monitor#44] given a list that is too large to be received, then it is read again in pages of 500, now and later', async () => {
    const m = await aMonitor({ seed: unhealthy, reports: { 'volume-1': degraded } });
    m.nextList(
      csiError('ResourceExhausted', 'larger than max'),
      { next_token: '1' },
      { entries: [entry('volume-1', inaccessible)] },
    );
    await m.cycle();
    expect(m.shown()).toEqual(storedInaccessible);
    await m.cycle();
    const sizes = m.channel.calls.map(({ request }) => (request as { max_entries?: number }).max_entries);
    expect(sizes).toEqual([0, 0, 500, 500, 500]);
  });

  it('given a driver that cannot list at all, then each cycle asks once, and no page size helps', async () => {
    const m = await aMonitor({ settings: { maxEntries: 10 } });
    m.channel.answer('/csi.v1.Controller/ControllerListVolumeHealth', csiError('ResourceExhausted', 'busy'));
    await m.cycle();
    await m.cycle();
    expect(m.asked()).toHaveLength(3);
  });
});

describe('entries', () => {
  it('[health-monitor#42] given a volume on two pages, then the later entry counts; if that is empty, then the driver is asked', async () => {
    const m = await aMonitor();
    m.nextList({ entries: [entry('volume-1')], next_token: '1' }, { entries: [entry('volume-1', inaccessible)] });
    await m.cycle();
    expect([m.writes().length, m.shown()]).toEqual([1, storedInaccessible]);
    m.report({ 'volume-1': inaccessible });
    m.nextList({ entries: [entry('volume-1', inaccessible)], next_token: '1' }, { entries: [entry('volume-1', [])] });
    await m.cycle();
    expect([m.writes().length, m.asked().at(-1)]).toEqual([1, 'Get volume-1']);
  });

  it('[health-monitor#43] given a volume that no PersistentVolume has, then it is ignored', async () => {
    const m = await aMonitor({ reports: { unknown: degraded } });
    expect([m.writes(), m.asked()]).toEqual([[], ['List']]);
    await m.cycle();
    expect(m.asked()).toEqual(['List', 'List']);
  });

  it('[health-monitor#45] given more entries than were asked for, then all of them count', async () => {
    const m = await aMonitor({
      seed: [...aPair(2), ...aPair(3)],
      settings: { maxEntries: 1 },
      reports: { 'volume-2': degraded, 'volume-3': degraded },
    });
    expect([m.shown('data-2'), m.shown('data-3')]).toEqual([storedDegraded, storedDegraded]);
    expect(m.channel.calls[0]?.request).toMatchObject({ max_entries: 1, starting_token: '' });
  });

  it('[health-monitor#55] given two PersistentVolumes with one handle, then both claims show the report, and one question serves both', async () => {
    const seed = [aVolume(), aClaim(), aVolume({ name: 'pv2', handle: 'volume-1' }), aClaim({ volumeName: 'pv2' })];
    const m = await aMonitor({ mode: 'get', seed, reports: { 'volume-1': degraded } });
    expect([m.shown(), m.shown('data-2'), m.asked()]).toEqual([storedDegraded, storedDegraded, ['Get volume-1']]);
  });

  it.each(['list', 'get'] as const)(
    '[health-monitor#56] given a volume without a handle, and a driver that is asked to %s, then an entry without a name marks nothing',
    async (mode) => {
      const m = await aMonitor({ mode, seed: [aVolume({ handle: '' }), aClaim()], reports: { '': degraded } });
      await m.cycle();
      expect([m.writes(), m.asked().filter((call) => call !== 'List')]).toEqual([[], []]);
    },
  );
});

it('[health-monitor#46] given pages that take longer than the interval, then cycles do not overlap', async () => {
  const m = await aMonitor({ settings: { listIntervalMs: 1_000 } });
  let most = 0;
  let underWay = 0;
  m.channel.answer('/csi.v1.Controller/ControllerListVolumeHealth', async ({ starting_token: token }) => {
    underWay += 1;
    most = Math.max(most, underWay);
    await m.clock.sleep(10_000);
    underWay -= 1;
    return { next_token: token === '' ? '1' : '' };
  });
  await m.clock.advance(100_000);
  expect(most).toBe(1);
  // Two pages of ten seconds and a pause of a second.
  expect(m.asked().length).toBeLessThan(12);
});

it('given monitors that start together, then their pauses differ by up to a tenth, and the first cycle begins at once', async () => {
  const m = await aMonitor();
  expect(m.asked()).toEqual(['List']);
  const listedAtMs: number[] = [];
  m.channel.answer('/csi.v1.Controller/ControllerListVolumeHealth', () => {
    listedAtMs.push(m.clock.monotonicMs());
    return {};
  });
  await m.clock.advance(1_200_000);
  const pauses = listedAtMs.map((atMs, place) => atMs - (listedAtMs[place - 1] ?? 0));
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(270_000);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(300_000);
  expect(new Set(pauses).size).toBe(pauses.length);
  expect(pauses.length).toBeGreaterThan(3);
});

it('[health-monitor#11] given a new leader, then its first cycle begins as soon as its caches are filled', async () => {
  const m = await aMonitor({ reports: { 'volume-1': degraded } });
  expect([m.clock.monotonicMs(), m.asked(), m.shown()]).toEqual([0, ['List'], storedDegraded]);
  expect(m.metrics.value('csi_sidecars_health_last_cycle_timestamp_seconds')).toBe(Date.UTC(2026, 0, 1) / 1_000);
});
