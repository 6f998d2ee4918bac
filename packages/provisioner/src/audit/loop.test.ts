// SPDX-License-Identifier: Apache-2.0
/** The periodic audit of the whole provisioner, with a driver whose volumes others make and remove. */
import { persistentVolumes } from '@csi-sidecars/runtime';
import { type AuditBoard, createAuditBoard } from '@csi-sidecars/csi';
import { describe, expect, it } from 'vitest';
import { aClaim, aVolume, driverName } from '../../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../../testing/provisioner-fixture.ts';
import { annotations } from '../names.ts';

const hourMs = 3_600_000;
const list = 'ListVolumes OK';
const old = '2000-01-01T00:00:00Z';

function audited(options: FixtureOptions = {}): Promise<Fixture> {
  return aProvisioner({
    controller: ['CREATE_DELETE_VOLUME', 'LIST_VOLUMES', 'GET_VOLUME'],
    ...options,
    settings: { auditIntervalMs: hourMs, ...options.settings },
  });
}

/** A volume of 1 GiB that the provisioner knows nothing of. */
async function make(p: Fixture, name: string): Promise<string> {
  const request = {
    name,
    capacity_range: { required_bytes: String(1024 ** 3) },
    volume_capabilities: [{ mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } }],
  };
  const { volume } = await p.driver.channel().call('/csi.v1.Controller/CreateVolume', request, { timeoutMs: 1_000 });
  p.driver.forgetCalls();
  return volume?.volume_id ?? '';
}

function record(p: Fixture, name: string, { handle, by = driverName }: { handle: string; by?: string }): void {
  const volume = aVolume({ annotations: { [annotations.provisionedBy]: by } });
  p.server.seed({
    ...volume,
    metadata: { ...volume.metadata, name, uid: `uid-of-${name}`, creationTimestamp: old },
    spec: { ...volume.spec, capacity: { storage: '1Gi' }, csi: { driver: driverName, volumeHandle: handle } },
    status: { phase: 'Bound' },
  });
}

/** To the end of the next pass. */
async function pass(p: Fixture): Promise<void> {
  await p.clock.advance(1.1 * hourMs);
  await p.settle();
}

const found = (p: Fixture, group: string): number | undefined =>
  p.metrics.value('csi_sidecars_audit_findings', { kind: 'volumes', class: group });
const passes = (p: Fixture, result: string): number =>
  p.metrics.value('csi_sidecars_audit_passes_total', { kind: 'volumes', result }) ?? 0;

describe('the periodic audit', () => {
  it('given a question, then a pass begins long before its time, and what it finds is remembered', async () => {
    let board: AuditBoard | undefined;
    const p = await audited({ auditBoardOf: (clock) => (board = createAuditBoard({ clock })) });
    const left = await make(p, 'left');
    expect(board?.state()).toMatchObject({ isRunning: false, last: undefined });
    board?.ask();
    await p.settle();
    expect(p.calls()).toEqual([list]);
    expect(board?.state()).toMatchObject({
      isRunning: false,
      last: { result: 'ok', findings: [{ class: 'unconfirmed', handle: left }] },
    });
    await p.stop();
  });

  it('given an interval of 0, when a person asks, then one pass lists, and neither metrics nor events are left from it', async () => {
    let board: AuditBoard | undefined;
    const p = await audited({
      auditBoardOf: (clock) => (board = createAuditBoard({ clock })),
      settings: { auditIntervalMs: 0 },
    });
    record(p, 'pv-a', { handle: await make(p, 'a') });
    record(p, 'pv-gone', { handle: 'gone' });
    const asked = async (): Promise<void> => {
      board?.ask();
      await p.settle();
      await p.clock.advance(1.1 * hourMs);
    };
    await pass(p);
    expect(p.calls()).toEqual([]);
    await asked();
    await asked();
    expect(p.calls()).toEqual([list, list]);
    expect(board?.state()).toMatchObject({
      isPeriodic: false,
      last: { result: 'ok', findings: [{ class: 'missing' }] },
    });
    expect([found(p, 'missing'), p.events]).toEqual([undefined, []]);
    await p.stop();
  });

  it('given it is off, or the driver does not list, then nothing is listed', async () => {
    for (const options of [{ settings: { auditIntervalMs: 0 } }, { controller: ['CREATE_DELETE_VOLUME' as const] }]) {
      const p = await audited(options);
      await pass(p);
      expect(p.calls()).toEqual([]);
      await p.stop();
    }
  });

  it('given volumes that differ, when two passes have seen it, then metrics and one event each say so', async () => {
    const p = await audited();
    const handles = [await make(p, 'a'), await make(p, 'b'), await make(p, 'of another provisioner')];
    const left = await make(p, 'left');
    for (const [at, handle] of handles.entries())
      record(p, `pv-${at}`, { handle, by: at === 2 ? 'other' : driverName });
    record(p, 'pv-gone', { handle: 'gone' });
    await p.settle();
    await pass(p);
    expect([p.calls(), found(p, 'unconfirmed'), found(p, 'missing'), p.events]).toEqual([[list], 2, undefined, []]);
    await pass(p);
    expect([found(p, 'unconfirmed'), found(p, 'missing'), found(p, 'unrecorded')]).toEqual([0, 1, 1]);
    expect([passes(p, 'ok'), p.metrics.value('csi_sidecars_audit_entries', { kind: 'volumes' })]).toEqual([2, 4]);
    const events = [...p.events];
    expect(events.filter((event) => event.includes('UnrecordedVolumes') && event.includes(left)).length).toBe(1);
    expect(events.filter((event) => event.includes('BackendVolumeMissing pv-gone')).length).toBe(1);
    expect(events.length).toBe(2);
    await pass(p);
    expect(p.events).toEqual(events);
    p.server.objects.remove(persistentVolumes, { name: 'pv-gone' });
    record(p, 'pv-left', { handle: left });
    await pass(p);
    expect([found(p, 'missing'), found(p, 'unrecorded')]).toEqual([0, 0]);
    expect(p.calls()).toEqual([list, list, list, list]);
    await p.stop();
  });

  it('given a difference that lasts, then its events are recorded again after a day', async () => {
    const p = await audited();
    record(p, 'pv-0', { handle: await make(p, 'a') });
    await make(p, 'left');
    await p.settle();
    for (let hours = 0; hours < 20; hours += 1) await pass(p);
    expect(p.events.length).toBe(1);
    for (let hours = 0; hours < 10; hours += 1) await pass(p);
    expect(p.events.length).toBe(2);
    await p.stop();
  });

  it('given a volume inside a pod, which has the handle that kubelet makes, then it is not found', async () => {
    const p = await audited();
    const entries = [`csi-${'0a'.repeat(32)}`, 'csi-0a'].map((volume_id) => ({ volume: { volume_id } }));
    p.driver.faults.add({ method: 'ListVolumes', action: { kind: 'answer', set: { entries } } });
    await pass(p);
    await pass(p);
    expect(found(p, 'unrecorded')).toBe(1);
    expect(p.events).toEqual([expect.stringContaining('names, csi-0a;')]);
    await p.stop();
  });

  it('given a claim whose CreateVolume goes on failing, then what nothing names is young', async () => {
    const p = await audited();
    await make(p, 'left');
    p.driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: 'Internal' } });
    p.server.seed(aClaim());
    await pass(p);
    await pass(p);
    expect([found(p, 'young'), found(p, 'unrecorded')]).toEqual([1, undefined]);
    await p.stop();
  });

  it('[explain#122] given a leadership that ends in a pass, then the pass ends at once, without an event, and is not counted', async () => {
    const p = await audited();
    record(p, 'pv-0', { handle: await make(p, 'a') });
    await make(p, 'left');
    await pass(p);
    p.driver.faults.add({ method: 'ListVolumes', action: { kind: 'hang' } });
    const isListing = (): boolean => p.driver.calls.at(-1)?.outcome === undefined;
    for (let step = 0; step < 1_000 && !isListing(); step += 1) await p.clock.advance(5_000);
    expect(p.driver.calls.at(-1)).toMatchObject({ method: '/csi.v1.Controller/ListVolumes', outcome: undefined });
    const startedMs = p.clock.monotonicMs();
    await p.stop();
    expect(p.clock.monotonicMs() - startedMs).toBeLessThanOrEqual(1_000);
    expect([p.events, passes(p, 'ok'), passes(p, 'failed'), passes(p, 'incomplete')]).toEqual([[], 1, 0, 0]);
  });

  it('given a list that fails, then it is counted, and findings stay; given one that is a part, then nothing is concluded', async () => {
    const p = await audited();
    const handles = [await make(p, 'a'), await make(p, 'b'), await make(p, 'c')];
    for (const [at, handle] of handles.entries()) record(p, `pv-${at}`, { handle });
    const gone = { method: 'ListVolumes', times: 1, action: { kind: 'answer', set: { entries: [] } } } as const;
    p.driver.faults.add({ method: 'ListVolumes', times: 1, action: { kind: 'fail', code: 'Unavailable' } });
    await pass(p);
    expect([passes(p, 'failed'), passes(p, 'ok')]).toEqual([1, 0]);
    p.driver.faults.add(gone);
    await pass(p);
    p.driver.faults.add(gone);
    await pass(p);
    expect([passes(p, 'incomplete'), found(p, 'missing'), p.events]).toEqual([2, undefined, []]);
    await pass(p);
    expect(passes(p, 'ok')).toBe(1);
    await p.stop();
  });

  it('given more than half of the workers with calls under way, then the list waits, for ten minutes at most', async () => {
    const p = await audited({ settings: { workerThreads: 1, timeoutMs: 10 * hourMs } });
    p.driver.faults.add({ method: 'CreateVolume', action: { kind: 'hang' } });
    p.server.seed(aClaim());
    await p.settle();
    const lists = (): number => p.driver.calls.filter(({ method }) => method.endsWith('ListVolumes')).length;
    await p.clock.advance(hourMs + 9 * 60_000);
    expect(lists()).toBe(0);
    await p.clock.advance(8 * 60_000);
    expect(lists()).toBe(1);
    p.driver.faults.clear();
    await p.settle();
    await p.stop();
  });
});
