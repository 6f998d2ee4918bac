// SPDX-License-Identifier: Apache-2.0
/** What a claim shows after reports of the driver. */
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aVolume,
  degraded,
  type Entries,
  inaccessible,
  storedDegraded,
  storedInaccessible,
} from '../testing/builders.ts';
import { aMonitor, internalError } from '../testing/monitor-fixture.ts';

const patched = 'patch persistentvolumeclaims/status team/data 200';
const minuteMs = 60_000;
const isClaimWatch: FaultRule['when'] = ({ verb, resource }) =>
  verb === 'watch' && resource === 'persistentvolumeclaims';

describe('a report with conditions', () => {
  it('[health-monitor#12] given a first report, then one patch stores exactly its entries, by status and then by reason', async () => {
    const report: Entries = [
      { status: 'INACCESSIBLE', reason: 'NoPath', message: 'no path' },
      { status: 'DEGRADED', reason: 'Slow', message: 'slow' },
      { status: 'DATA_LOSS', reason: 'Lost', message: 'lost' },
      { status: 'DEGRADED', reason: 'Old', message: 'old' },
    ];
    const m = await aMonitor({ reports: { 'volume-1': report } });
    expect(m.writes()).toEqual([patched]);
    expect(m.bodies()).toEqual([
      {
        metadata: { uid: 'uid-of-data' },
        status: {
          healthStatus: {
            healthConditions: [
              { status: 'DataLoss', reason: 'Lost', message: 'lost' },
              { status: 'Degraded', reason: 'Old', message: 'old' },
              { status: 'Degraded', reason: 'Slow', message: 'slow' },
              { status: 'Inaccessible', reason: 'NoPath', message: 'no path' },
            ],
            lastTransitionTime: '2026-01-01T00:00:00Z',
          },
        },
      },
    ]);
  });

  it('[health-monitor#13] given the same report again, in another order, then nothing is written', async () => {
    const both = [...degraded, ...inaccessible];
    const m = await aMonitor({ reports: { 'volume-1': both } });
    m.report({ 'volume-1': both.toReversed() });
    await m.cycle();
    await m.cycle();
    expect([m.writes(), m.asked()]).toEqual([[patched], ['List', 'List', 'List']]);
  });

  it('[health-monitor#14] given another message for the same status and reason, then it is stored with the time of the set', async () => {
    const m = await aMonitor({ reports: { 'volume-1': degraded } });
    m.report({ 'volume-1': [{ ...degraded[0], message: 'slower' }] });
    await m.cycle();
    expect(m.writes()).toEqual([patched, patched]);
    expect(m.claim()?.status?.healthStatus).toEqual({
      healthConditions: [{ status: 'Degraded', reason: 'SlowDisk', message: 'slower' }],
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
  });

  it('given a message that counts, then it is stored once in ten minutes', async () => {
    const m = await aMonitor({ reports: { 'volume-1': degraded }, settings: { listIntervalMs: minuteMs } });
    for (let count = 1; count <= 25; count += 1) {
      m.report({ 'volume-1': [{ ...degraded[0], message: `${count} errors` }] });
      await m.cycle();
    }
    // The first report, the first message after it, and the messages ten and twenty minutes after that one.
    expect(m.writes()).toHaveLength(4);
  });

  it('[health-monitor#15] given one condition replaced by another, then one patch stores the second only, with the time of now', async () => {
    const m = await aMonitor({ reports: { 'volume-1': degraded } });
    m.report({ 'volume-1': inaccessible });
    await m.cycle();
    expect(m.writes()).toEqual([patched, patched]);
    const { healthConditions, lastTransitionTime } = m.claim()?.status?.healthStatus ?? {};
    expect(healthConditions).toEqual(storedInaccessible);
    expect(lastTransitionTime).toMatch(/^2026-01-01T00:0[45]/);
  });

  it('[health-monitor#16] given A, then A and B, then B, then three patches replace the list each time', async () => {
    const m = await aMonitor({ reports: { 'volume-1': degraded } });
    const seen = [m.shown()];
    for (const report of [[...inaccessible, ...degraded], inaccessible]) {
      m.report({ 'volume-1': report });
      await m.cycle();
      seen.push(m.shown());
    }
    expect(seen).toEqual([storedDegraded, [...storedDegraded, ...storedInaccessible], storedInaccessible]);
    expect(m.writes()).toHaveLength(3);
  });

  it('[health-monitor#19] given a second report before the watch shows the first patch, then it is not written again', async () => {
    const lags = { when: isClaimWatch, fault: { kind: 'lag', ms: 5_000 } } as const;
    const m = await aMonitor({ mode: 'get', settings: { monitorIntervalMs: 100 }, faults: [lags] });
    await m.clock.advance(10_000);
    m.report({ 'volume-1': degraded });
    await m.clock.advance(1_000);
    await m.settle();
    expect(m.asked().length).toBeGreaterThan(3);
    expect(m.writes()).toEqual([patched]);
  });

  it('[health-monitor#20] given health that was edited by hand, then the next report replaces it, or removes it if the volume is healthy', async () => {
    const m = await aMonitor({ reports: { 'volume-1': degraded } });
    const byHand = aClaim({ health: storedInaccessible }).status ?? {};
    m.changeClaim((claim) => ({ ...claim, status: byHand }));
    await m.cycle();
    expect(m.shown()).toEqual(storedDegraded);
    m.report({ 'volume-1': [] });
    await m.cycle();
    expect(m.shown()).toBeUndefined();
    m.changeClaim((claim) => ({ ...claim, status: byHand }));
    await m.cycle();
    expect([m.shown(), m.asked().filter((call) => call !== 'List')]).toEqual([
      undefined,
      ['Get volume-1', 'Get volume-1'],
    ]);
  });

  it('[health-monitor#60] given a claim that is being deleted, then it shows the health all the same', async () => {
    const seed = [aVolume(), aClaim({ deleting: 'yes' })];
    const m = await aMonitor({ seed, reports: { 'volume-1': degraded } });
    expect(m.shown()).toEqual(storedDegraded);
  });

  it('[health-monitor#71] given other fields and conditions in the status, then no patch changes them', async () => {
    const conditions = [{ type: 'Resizing', status: 'True', lastTransitionTime: null, message: 'm' }];
    const status = { conditions, allocatedResources: { storage: '2Gi' } };
    const m = await aMonitor({ seed: [aVolume(), aClaim({ status })], reports: { 'volume-1': degraded } });
    m.report({ 'volume-1': [] });
    const set = m.claim()?.status;
    await m.cycle();
    expect(m.writes()).toEqual([patched, patched]);
    const { healthStatus: _shown, ...others } = set ?? {};
    expect(others).toMatchObject(status);
    expect(m.claim()?.status).toEqual(others);
  });

  it('[health-monitor#72] given a kubelet that writes the status of the claim, then the health stays', async () => {
    const m = await aMonitor({ reports: { 'volume-1': degraded } });
    m.changeClaim((claim) => ({ ...claim, status: { ...claim.status, capacity: { storage: '2Gi' } } }));
    await m.cycle();
    expect([m.shown(), m.writes()]).toEqual([storedDegraded, [patched]]);
  });
});

it('[health-monitor#24] given entries with one status and reason, then one is stored, and the other is counted', async () => {
  const m = await aMonitor({ reports: { 'volume-1': [...degraded, ...degraded] } });
  expect([m.shown(), m.metrics.value('csi_sidecars_health_duplicate_conditions_total')]).toEqual([storedDegraded, 1]);
});

describe('a report without conditions', () => {
  it('[health-monitor#17] given a claim without health, then nothing is written', async () => {
    const m = await aMonitor();
    m.nextList({ entries: [{ volume_id: 'volume-1' }] });
    await m.cycle();
    expect([m.writes(), m.asked()]).toEqual([[], ['List', 'List']]);
  });

  it('[health-monitor#18] given a claim with health from before this process, then it is removed', async () => {
    const seed = [aVolume(), aClaim({ health: storedDegraded })];
    const m = await aMonitor({ mode: 'get', seed });
    expect(m.bodies()).toEqual([{ metadata: { uid: 'uid-of-data' }, status: { healthStatus: null } }]);
    expect(m.claim()?.status).not.toHaveProperty('healthStatus');
  });
});

describe('odd answers of the driver', () => {
  const stored = { seed: [aVolume(), aClaim({ health: storedDegraded })], mode: 'get' } as const;

  it('[health-monitor#30] given an answer without volume_health, then it is an error, and nothing is removed', async () => {
    const m = await aMonitor({ mode: 'get', reports: { 'volume-1': degraded } });
    m.channel.answer('/csi.v1.Controller/ControllerGetVolumeHealth', {});
    await m.cycle();
    expect([m.shown(), m.writes()]).toEqual([storedDegraded, [patched]]);
    expect(m.logger.lines).toContainEqual(
      expect.objectContaining({
        kind: 'error',
        error: expect.objectContaining({ message: 'ControllerGetVolumeHealth answered without volume_health' }),
      }),
    );
    const labels = { method: 'ControllerGetVolumeHealth', result: 'error' };
    expect(m.metrics.value('csi_volume_health_probe_total', labels)).toBeGreaterThan(0);
  });

  it('[health-monitor#31] given an answer about another volume, then it is an error, and nothing is written', async () => {
    const m = await aMonitor({ mode: 'get' });
    const health = { volume_id: 'volume-2', health_statuses: inaccessible };
    m.channel.answer('/csi.v1.Controller/ControllerGetVolumeHealth', { volume_health: health });
    await m.cycle();
    expect(m.writes()).toEqual([]);
    m.channel.answer('/csi.v1.Controller/ControllerGetVolumeHealth', { volume_health: { health_statuses: degraded } });
    await m.cycle();
    expect(m.shown()).toEqual(storedDegraded);
  });

  it('[health-monitor#76] given a restart, then what the claims show is all that the next process needs', async () => {
    const m = await aMonitor({ ...stored, reports: { 'volume-1': degraded } });
    await m.cycle();
    expect(m.writes()).toEqual([]);
  });
});

describe('unknown types', () => {
  const future = { status: 99 as never, reason: 'FromTheFuture', message: 'flux' };
  const text = 'The CSI driver reported volume health conditions of a type unknown to this monitor: ';

  it('[health-monitor#26] given an entry of type 99 beside a known one, then the known one is stored, and an event and a counter name the other', async () => {
    const m = await aMonitor({ reports: { 'volume-1': [future, ...degraded] } });
    expect(m.shown()).toEqual(storedDegraded);
    expect(m.events).toEqual([
      `Warning UnknownVolumeHealthCondition team/data: ${text}99 (reason: FromTheFuture): flux`,
    ]);
    expect(m.metrics.value('csi_volume_health_unknown_condition_total', { status: '99' })).toBe(1);
  });

  it('[health-monitor#27] given only the unknown entry left, then the health is removed, and the gauge does not show the volume as healthy', async () => {
    const m = await aMonitor({ reports: { 'volume-1': [future, ...degraded] } });
    m.report({ 'volume-1': [future] });
    await m.cycle();
    expect(m.shown()).toBeUndefined();
    const labels = { namespace: 'team', persistentvolumeclaim: 'data' };
    const gauge = (status: string) => m.metrics.value('csi_controller_volume_health_status', { ...labels, status });
    expect([gauge('Unknown'), gauge('Degraded')]).toEqual([1, undefined]);
    m.report({ 'volume-1': [] });
    await m.cycle();
    expect(gauge('Unknown')).toBeUndefined();
  });

  it('given thousands of unknown types, then the event and the line are cut, and there are a hundred series and one for the others', async () => {
    const many = Array.from({ length: 3_000 }, (_, n) => ({ status: 1_000 + n, reason: 'R', message: 'm'.repeat(50) }));
    const m = await aMonitor({ reports: { 'volume-1': many } });
    expect(m.events).toHaveLength(1);
    expect(m.events[0]?.length).toBeLessThan(1_250);
    const counted = (value: string) => m.metrics.value('csi_volume_health_unknown_condition_total', { status: value });
    expect([counted('1099'), counted('1100'), counted('other')]).toEqual([1, undefined, 2_900]);
  });

  it('[health-monitor#28] given an entry with the value 0, then it is unknown by its name', async () => {
    const m = await aMonitor({ reports: { 'volume-1': [{ status: 'UNKNOWN_VOLUME_HEALTH_TYPE', reason: 'R' }] } });
    expect(m.events).toEqual([
      `Warning UnknownVolumeHealthCondition team/data: ${text}UNKNOWN_VOLUME_HEALTH_TYPE (reason: R)`,
    ]);
    expect(m.writes()).toEqual([]);
  });

  it('[health-monitor#29] given the same unknown entries in each cycle, then the event comes once an hour, and at once when its text changes', async () => {
    const m = await aMonitor({ reports: { 'volume-1': [future] } });
    for (let cycle = 0; cycle < 10; cycle += 1) await m.cycle();
    expect(m.events).toHaveLength(1);
    m.report({ 'volume-1': [{ ...future, message: 'more' }] });
    await m.cycle();
    expect(m.events).toHaveLength(2);
    await m.clock.advance(60 * minuteMs);
    expect(m.events).toHaveLength(3);
  });
});

it('given a failure of the API server between two reports, then the newest value is written, once', async () => {
  const m = await aMonitor();
  m.fault('patch persistentvolumeclaims/status', internalError, 1);
  m.report({ 'volume-1': degraded });
  await m.cycle();
  await m.clock.advance(30_000);
  expect(m.shown()).toEqual(storedDegraded);
});
