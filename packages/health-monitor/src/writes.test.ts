// SPDX-License-Identifier: Apache-2.0
/** Writes that the API server drops or refuses, and writes at the end of the process. */
import { type KubeObject, persistentVolumeClaims } from '@csi-sidecars/runtime';
import type { Fault } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aPair, aVolume, degraded, inaccessible, storedDegraded } from '../testing/builders.ts';
import { aMonitor, forbidden, internalError } from '../testing/monitor-fixture.ts';
import { messages } from './claim/messages.ts';

const status = 'patch persistentvolumeclaims/status';
const pairs = (count: number): readonly KubeObject[] => Array.from({ length: count }, (_, n) => aPair(n + 1)).flat();
const allDegraded = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`volume-${n + 1}`, degraded]));
const invalid: Fault = { kind: 'status', point: 'before', code: 422, reason: 'Invalid' };
const dropped = 'csi_volume_health_status_writes_dropped_total';
const labels = { namespace: 'team', persistentvolumeclaim: 'data', status: 'Degraded' };
const gauge = 'csi_controller_volume_health_status';

describe('a gate CSIVolumeHealth that is off', () => {
  it('[health-monitor#62] given twenty unhealthy volumes, then after the first dropped writes one claim is tried in each cycle, and one line is logged', async () => {
    const m = await aMonitor({
      seed: pairs(20),
      reports: allDegraded(20),
      gate: 'off',
      settings: { workerThreads: 2 },
    });
    const first = m.writes().length;
    expect(first).toBeLessThanOrEqual(2);
    for (let cycle = 1; cycle <= 3; cycle += 1) {
      await m.cycle();
      expect(m.writes()).toHaveLength(first + cycle);
    }
    expect(m.metrics.value(dropped)).toBe(first + 3);
    expect(m.logger.lines.filter(({ message }) => message === messages.dropped)).toHaveLength(1);
    expect(m.metrics.value(gauge, labels)).toBe(1);
  });

  it('[health-monitor#63] given the gate is switched on later, then the next cycle stores all of them, and one line is logged', async () => {
    const m = await aMonitor({ seed: pairs(20), reports: allDegraded(20), gate: 'off' });
    await m.cycle();
    m.setGate('on');
    await m.cycle();
    const shown = m.server.objects.list(persistentVolumeClaims).map(({ metadata }) => m.shown(metadata?.name));
    expect(shown).toEqual(Array.from({ length: 20 }, () => storedDegraded));
    expect(m.logger.lines.filter(({ message }) => message === messages.stored)).toHaveLength(1);
    await m.cycle();
    expect(m.logger.lines.filter(({ message }) => message === messages.dropped)).toHaveLength(1);
  });

  it('[health-monitor#64] given a claim with health whose volume is healthy, then the health is removed, and no drop is counted', async () => {
    const m = await aMonitor({ seed: [aVolume(), aClaim({ health: storedDegraded })], gate: 'off' });
    expect([m.writes(), m.shown(), m.metrics.value(dropped) ?? 0]).toEqual([[`${status} team/data 200`], undefined, 0]);
  });

  it('given claims with health and without, then those with health are changed in each cycle, and the others do not take that for the end of the drops', async () => {
    const seed = [...pairs(10), aVolume({ name: 'pv11' }), aClaim({ volumeName: 'pv11', health: storedDegraded })];
    const m = await aMonitor({ seed, reports: allDegraded(11), gate: 'off' });
    const before = m.metrics.value(dropped) ?? 0;
    m.report({ 'volume-11': inaccessible });
    await m.cycle();
    expect(m.shown('data-11')?.map(({ reason }) => reason)).toEqual(['Gone']);
    expect(m.metrics.value(dropped)).toBe(before + 1);
    expect(m.logger.lines.filter(({ message }) => message === messages.stored)).toEqual([]);
  });

  it('given an API server that keeps what a claim should lose, then the removal is sent again after ten minutes only', async () => {
    const seed = [aVolume(), aClaim({ health: storedDegraded })];
    const m = await aMonitor({ seed, settings: { listIntervalMs: 60_000 }, gate: 'keeps' });
    await m.clock.advance(9 * 60_000);
    expect([m.writes().length, m.metrics.value(dropped) ?? 0]).toEqual([1, 0]);
    await m.clock.advance(3 * 60_000);
    expect(m.writes()).toHaveLength(2);
  });

  it('[health-monitor#65] given an unhealthy volume that is absent later, then it is asked about, and its series goes', async () => {
    const m = await aMonitor({ reports: { 'volume-1': degraded }, gate: 'off' });
    expect(m.metrics.value(gauge, labels)).toBe(1);
    m.report({ 'volume-1': [] });
    await m.cycle();
    expect([m.asked().at(-1), m.metrics.value(gauge, labels)]).toEqual(['Get volume-1', undefined]);
  });
});

describe('a refused write', () => {
  it.each<[string, Fault]>([
    ['500', internalError],
    ['429', { kind: 'status', point: 'before', code: 429, reason: 'TooManyRequests' }],
    ['no answer', { kind: 'break', point: 'before', failure: 'reset' }],
  ])(
    '[health-monitor#66] given %s, then it is tried again in the same cycle, with the newest value',
    async (_, fault) => {
      const m = await aMonitor({ mode: 'get', settings: { monitorIntervalMs: 100_000 } });
      m.fault(status, fault, 20);
      m.report({ 'volume-1': degraded });
      await m.clock.advance(100_000);
      expect(m.shown()).toBeUndefined();
      m.report({ 'volume-1': inaccessible });
      await m.clock.advance(100_000);
      m.faults.length = 0;
      await m.clock.advance(80_000);
      expect(m.shown()?.map(({ reason }) => reason)).toEqual(['Gone']);
    },
  );

  it('[health-monitor#67] given 403, then one line an hour names the missing verb, one claim is tried in each cycle, and all are written when the right comes', async () => {
    const m = await aMonitor({ seed: pairs(20), reports: allDegraded(20), faults: [] });
    m.fault(status, forbidden, Infinity);
    m.report({ ...allDegraded(20), 'volume-1': inaccessible, 'volume-2': inaccessible, 'volume-3': inaccessible });
    const before = m.writes().length;
    await m.cycle();
    const lines = () => m.logger.lines.filter(({ message }) => message === messages.forbidden).length;
    const refused = () => m.metrics.value('csi_sidecars_health_refused_writes_total', { reason: 'forbidden' });
    expect([m.writes().length - before, lines(), refused()]).toEqual([0, 1, 3]);
    await m.cycle();
    await m.cycle();
    expect([lines(), refused()]).toEqual([1, 5]);
    await m.clock.advance(3_600_000);
    expect(lines()).toBe(2);
    m.faults.length = 0;
    await m.cycle();
    expect(m.writes().length - before).toBe(3);
    expect(messages.forbidden).toContain('patch for persistentvolumeclaims/status');
  });

  it('given 403 in one namespace, then claims of other namespaces are written', async () => {
    const other = { namespace: 'other', name: 'data', uid: 'uid-of-other' };
    const claim = aClaim({ volumeName: 'pv2', name: 'data', uid: 'uid-of-other' });
    const m = await aMonitor({
      seed: [
        aVolume(),
        aClaim(),
        aVolume({ name: 'pv2', claim: other }),
        { ...claim, metadata: { ...claim.metadata, namespace: 'other' } },
      ],
      faults: [
        { when: ({ namespace, verb }) => verb === 'patch' && namespace === 'team', fault: forbidden, times: Infinity },
      ],
      reports: allDegraded(2),
    });
    expect(m.writes()).toEqual([`${status} other/data 200`]);
  });

  it('[health-monitor#68] given 422, then the same value is not sent again for ten minutes, and another value is', async () => {
    const m = await aMonitor({ settings: { listIntervalMs: 60_000 } });
    m.fault(status, invalid, Infinity);
    m.report({ 'volume-1': degraded });
    const refused = () => m.metrics.value('csi_sidecars_health_refused_writes_total', { reason: 'invalid' });
    await m.clock.advance(9 * 60_000);
    expect(refused()).toBe(1);
    await m.clock.advance(3 * 60_000);
    expect(refused()).toBe(2);
    m.faults.length = 0;
    m.report({ 'volume-1': inaccessible });
    await m.cycle();
    expect(m.shown()?.map(({ reason }) => reason)).toEqual(['Gone']);
  });

  it('[health-monitor#69] given 404, then it is ignored', async () => {
    const m = await aMonitor();
    m.fault(status, { kind: 'status', point: 'before', code: 404, reason: 'NotFound' });
    m.report({ 'volume-1': degraded });
    await m.cycle();
    expect(m.logger.lines.filter(({ kind }) => kind === 'error')).toEqual([]);
  });
});

it('[health-monitor#70] given many first reports, then inaccessible volumes are written before degraded ones', async () => {
  const reports = { ...allDegraded(50), 'volume-48': inaccessible, 'volume-50': inaccessible };
  const m = await aMonitor({ seed: pairs(50), reports, settings: { workerThreads: 1 } });
  expect(m.writes()).toHaveLength(50);
  // The only worker is busy with the first one when the others come.
  expect(m.writes().slice(1, 3).toSorted()).toEqual([`${status} team/data-48 200`, `${status} team/data-50 200`]);
});

describe('the end', () => {
  it('[health-monitor#73] given a stop in a cycle, then nothing is written after it, and a patch that is under way is finished', async () => {
    const m = await aMonitor({ settings: { listIntervalMs: 60_000 } });
    m.fault(status, { kind: 'delay', ms: 10_000 });
    m.report({ 'volume-1': degraded });
    await m.clock.advance(60_000);
    expect(m.writes()).toEqual([]);
    const stopped = m.stop();
    await m.clock.advance(10_000);
    await stopped;
    expect(m.writes()).toEqual([`${status} team/data 200`]);
    expect(m.clock.pending).toBe(0);
  });

  it('given a stop while the driver lists, then what it answers is not written', async () => {
    const m = await aMonitor({ settings: { listIntervalMs: 60_000 } });
    m.channel.answer('/csi.v1.Controller/ControllerListVolumeHealth', async () => {
      await m.clock.sleep(5_000);
      return { entries: [{ volume_id: 'volume-1', health_statuses: degraded }] };
    });
    await m.clock.advance(60_000);
    const stopped = m.stop();
    await m.clock.advance(10_000);
    await stopped;
    expect(m.writes()).toEqual([]);
  });
});
