// SPDX-License-Identifier: Apache-2.0
/** Which volumes are looked at, and which claim shows their health. */
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aVolume, degraded, storedDegraded, type VolumeFacts } from '../testing/builders.ts';
import { aMonitor } from '../testing/monitor-fixture.ts';

const hostPath = { csi: undefined, hostPath: { path: '/x' } } as unknown as NonNullable<VolumeFacts['spec']>;
const inTree = { csi: undefined, gcePersistentDisk: { pdName: 'disk' } } as unknown as NonNullable<VolumeFacts['spec']>;

describe.each(['list', 'get'] as const)('a driver that is asked to %s', (mode) => {
  const ofVolume = async (facts: VolumeFacts) => {
    const m = await aMonitor({ mode, seed: [aVolume(facts), aClaim()], reports: { 'volume-1': degraded } });
    await m.cycle();
    return m;
  };

  it.each<[string, VolumeFacts]>([
    ['that is Available', { phase: 'Available' }],
    ['that is Released', { phase: 'Released' }],
    ['that is Failed', { phase: 'Failed' }],
    ['without a claim', { claim: 'none' }],
  ])('[health-monitor#47] given a volume %s, then it is skipped', async (_, facts) => {
    const m = await ofVolume(facts);
    expect([m.writes(), m.asked().filter((call) => call !== 'List')]).toEqual([[], []]);
  });

  it.each<[string, VolumeFacts]>([
    ['of another driver', { driver: 'other.csi.example.com' }],
    ['of an in-tree plugin that another driver replaces', { spec: inTree }],
    ['of no driver', { spec: hostPath }],
  ])('[health-monitor#48] given a volume %s, then it is skipped', async (_, facts) => {
    const m = await ofVolume(facts);
    expect([m.writes(), m.asked().filter((call) => call !== 'List')]).toEqual([[], []]);
  });

  it('[health-monitor#49] given a volume that is being deleted, then it is skipped, and its health stays until it is gone', async () => {
    const seed = [aVolume({ deleting: 'yes' }), aClaim({ health: storedDegraded })];
    const m = await aMonitor({ mode, seed });
    await m.cycle();
    expect([m.writes(), m.shown()]).toEqual([[], storedDegraded]);
    m.server.objects.remove(persistentVolumes, { name: 'pv1' });
    await m.settle();
    expect(m.shown()).toBeUndefined();
  });

  it('[health-monitor#50] given a volume that was deleted, and its claim is still there, then the health is removed', async () => {
    const m = await aMonitor({ mode, reports: { 'volume-1': degraded } });
    m.server.objects.remove(persistentVolumes, { name: 'pv1' });
    await m.settle();
    expect([m.shown(), m.writes().length]).toEqual([undefined, 2]);
    const labels = { namespace: 'team', persistentvolumeclaim: 'data', status: 'Degraded' };
    expect(m.metrics.value('csi_controller_volume_health_status', labels)).toBeUndefined();
  });

  it('[health-monitor#51] given a volume that was deleted, and another claim of that name, then that claim is not written', async () => {
    const m = await aMonitor({ mode, reports: { 'volume-1': degraded } });
    m.server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'data' });
    m.server.seed(aClaim({ uid: 'another', health: storedDegraded }));
    m.server.objects.remove(persistentVolumes, { name: 'pv1' });
    await m.settle();
    expect([m.shown(), m.writes().length]).toEqual([storedDegraded, 1]);
  });

  it.each([
    ['[health-monitor#52] given a claim that was created again under its name', aClaim({ uid: 'another' })],
    ['[health-monitor#53] given a claim that names another volume', aClaim({ name: 'data', volumeName: 'pv9' })],
  ])('%s, then nothing is written, and the gauge shows nothing', async (_, claim) => {
    const m = await aMonitor({ mode, seed: [aVolume(), claim], reports: { 'volume-1': degraded } });
    await m.cycle();
    expect(m.writes()).toEqual([]);
    const labels = { namespace: 'team', persistentvolumeclaim: 'data', status: 'Degraded' };
    expect(m.metrics.value('csi_controller_volume_health_status', labels)).toBeUndefined();
  });

  it('[health-monitor#59] given a volume that is unhealthy before it is Bound, then the first cycle after that shows it', async () => {
    const m = await ofVolume({ phase: 'Available' });
    m.changeVolume((volume) => ({ ...volume, status: { phase: 'Bound' } }));
    await m.cycle();
    expect(m.shown()).toEqual(storedDegraded);
  });
});

it.each(['list', 'get'] as const)(
  '[health-monitor#48] given a volume of the in-tree plugin that the driver replaces, and a driver that is asked to %s, then its claim shows the health',
  async (mode) => {
    const handle = 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk';
    const m = await aMonitor({
      mode,
      driver: 'pd.csi.storage.gke.io',
      seed: [aVolume({ spec: inTree }), aClaim()],
      reports: { [handle]: degraded },
    });
    await m.cycle();
    expect(m.shown()).toEqual(storedDegraded);
  },
);

it('[health-monitor#54] given a claim that is created again between the cache and the patch, then the new claim is never marked', async () => {
  const lag = { kind: 'lag', ms: 10_000 } as const;
  const m = await aMonitor({
    faults: [{ when: ({ verb, resource }) => verb === 'watch' && resource === 'persistentvolumeclaims', fault: lag }],
    settings: { listIntervalMs: 20_000 },
  });
  await m.clock.advance(15_000);
  m.report({ 'volume-1': degraded });
  m.server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'data' });
  m.server.seed(aClaim({ uid: 'another' }));
  await m.clock.advance(8_000);
  expect(m.writes()).toEqual(['patch persistentvolumeclaims/status team/data 422']);
  expect(m.shown()).toBeUndefined();
  expect(m.metrics.value('csi_sidecars_health_refused_writes_total', { reason: 'invalid' })).toBeUndefined();
});

it('[health-monitor#77] given a volume that is deleted while the watch of claims is behind, then a claim that was created again keeps its health', async () => {
  const lag = { kind: 'lag', ms: 10_000 } as const;
  const m = await aMonitor({
    faults: [{ when: ({ verb, resource }) => verb === 'watch' && resource === 'persistentvolumeclaims', fault: lag }],
    seed: [aVolume(), aClaim({ health: storedDegraded })],
    reports: { 'volume-1': degraded },
  });
  await m.clock.advance(15_000);
  m.server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'data' });
  m.server.seed(aClaim({ uid: 'another', health: storedDegraded }));
  m.server.objects.remove(persistentVolumes, { name: 'pv1' });
  await m.clock.advance(20_000);
  expect(m.writes()).toEqual(['patch persistentvolumeclaims/status team/data 422']);
  expect(m.shown()).toEqual(storedDegraded);
});

it('[health-monitor#57] given a volume that becomes Bound, and a driver that does not list, then it is asked about at once', async () => {
  const m = await aMonitor({ mode: 'get', seed: [aVolume({ phase: 'Available' }), aClaim()] });
  m.report({ 'volume-1': degraded });
  m.changeVolume((volume) => ({ ...volume, status: { phase: 'Bound' } }));
  await m.settle();
  expect([m.clock.monotonicMs(), m.asked(), m.shown()]).toEqual([0, ['Get volume-1'], storedDegraded]);
});

it('[health-monitor#58] given a claim that is not in the cache, then that is an error after 30 s only, and the claim shows the health when it comes', async () => {
  const m = await aMonitor({ seed: [aVolume()], reports: { 'volume-1': degraded } });
  const errors = () => m.logger.lines.filter(({ kind }) => kind === 'error').length;
  expect(errors()).toBe(0);
  await m.cycle();
  expect(errors()).toBe(1);
  m.server.seed(aClaim());
  await m.cycle();
  expect(m.shown()).toEqual(storedDegraded);
});

it('[health-monitor#61] given volumes and claims of other drivers, then their volumes and unbound claims are not kept, and nothing is fetched', async () => {
  const seed = [
    aVolume(),
    aClaim(),
    aVolume({ name: 'pv2', driver: 'other.csi.example.com' }),
    aClaim({ volumeName: '', name: 'new' }),
  ];
  const m = await aMonitor({ seed, reports: { 'volume-1': degraded, 'volume-2': degraded } });
  await m.cycle();
  expect(m.writes()).toEqual(['patch persistentvolumeclaims/status team/data 200']);
  expect(m.server.requests.filter(({ verb }) => verb === 'get')).toEqual([]);
});

it('[health-monitor#61] given a claim that comes before its volume, then it is read once when the volume is unhealthy, and shows the health', async () => {
  const lag = { kind: 'lag', ms: 10_000 } as const;
  const m = await aMonitor({
    seed: [],
    faults: [{ when: ({ verb, resource }) => verb === 'watch' && resource === 'persistentvolumes', fault: lag }],
    gate: 'off',
  });
  await m.clock.advance(15_000);
  m.server.seed(aVolume());
  m.server.seed(aClaim());
  m.report({ 'volume-1': degraded });
  const reads = () => m.server.requests.filter(({ path }) => path.includes('metadata.name%3Ddata'));
  await m.cycle();
  // The API server drops the health, so the watch brings nothing of the claim.
  await m.cycle();
  expect([m.writes().length, reads().length, m.shown()]).toEqual([2, 1, undefined]);
  m.setGate('on');
  await m.cycle();
  expect([m.shown(), reads().length]).toEqual([storedDegraded, 1]);
  m.report({ 'volume-1': [] });
  await m.cycle();
  expect([m.shown(), reads().length]).toEqual([undefined, 1]);
});

it('given a claim that is deleted, then the gauge does not show it any more', async () => {
  const m = await aMonitor({ reports: { 'volume-1': degraded } });
  const labels = { namespace: 'team', persistentvolumeclaim: 'data', status: 'Degraded' };
  const gauge = () => m.metrics.value('csi_controller_volume_health_status', labels);
  expect(gauge()).toBe(1);
  m.server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'data' });
  await m.settle();
  expect(gauge()).toBeUndefined();
});
