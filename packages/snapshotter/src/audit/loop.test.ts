// SPDX-License-Identifier: Apache-2.0
/** The periodic audit of the whole csi-snapshotter, with a driver whose snapshots others make and remove. */
import { type AuditBoard, createAuditBoard } from '@csi-sidecars/csi';
import { describe, expect, it } from 'vitest';
import { aClass, aContent, aGroupClass, aGroupContent, driverName } from '../../testing/builders.ts';
import { aSnapshotter, type Fixture, type FixtureOptions } from '../../testing/snapshotter-fixture.ts';

const hourMs = 3_600_000;
const list = 'ListSnapshots OK';

function audited(options: FixtureOptions = {}): Promise<Fixture> {
  return aSnapshotter({ seed: [], ...options, settings: { auditIntervalMs: hourMs, ...options.settings } });
}

async function take(p: Fixture, name: string): Promise<string> {
  const request = { source_volume_id: 'volume-1', name };
  const { snapshot } = await p.driver
    .channel()
    .call('/csi.v1.Controller/CreateSnapshot', request, { timeoutMs: 1_000 });
  p.driver.forgetCalls();
  return snapshot?.snapshot_id ?? '';
}

function record(p: Fixture, name: string, handle: string): void {
  const content = {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name, uid: `uid-of-${name}`, creationTimestamp: '2000-01-01T00:00:00Z' },
    spec: { driver: driverName, deletionPolicy: 'Retain', source: { snapshotHandle: handle } },
    status: { readyToUse: true, snapshotHandle: handle, creationTime: 1, restoreSize: 1 },
  };
  p.server.seed(content);
}

/** To the end of the next pass. */
async function pass(p: Fixture): Promise<void> {
  await p.clock.advance(1.1 * hourMs);
  await p.settle();
}

const found = (p: Fixture, group: string): number | undefined =>
  p.metrics.value('csi_sidecars_audit_findings', { kind: 'snapshots', class: group });
const passes = (p: Fixture, result: string): number =>
  p.metrics.value('csi_sidecars_audit_passes_total', { kind: 'snapshots', result }) ?? 0;

describe('the periodic audit', () => {
  it('given a question, then a pass begins long before its time, and what it finds is remembered', async () => {
    let board: AuditBoard | undefined;
    const p = await audited({ auditBoardOf: (clock) => (board = createAuditBoard({ clock })) });
    const left = await take(p, 'left');
    expect(board?.state()).toEqual({ listed: 'snapshots', isPeriodic: true, isRunning: false, last: undefined });
    board?.ask();
    await p.settle();
    expect(p.calls()).toEqual([list]);
    expect(board?.state()).toMatchObject({
      isRunning: false,
      last: { result: 'ok', findings: [{ class: 'young', handle: left }] },
    });
    await p.stop();
  });

  it('given an interval of 0, when a person asks, then one pass lists, and neither metrics nor events are left from it', async () => {
    let board: AuditBoard | undefined;
    const p = await audited({
      auditBoardOf: (clock) => (board = createAuditBoard({ clock })),
      settings: { auditIntervalMs: 0 },
    });
    record(p, 'a', await take(p, 'a'));
    record(p, 'gone', 'gone');
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
      last: { result: 'ok', findings: [{ class: 'missingSnapshot' }] },
    });
    expect([found(p, 'missingSnapshot'), p.events]).toEqual([undefined, []]);
    await p.stop();
  });

  it('given it is off, or the driver does not list, then nothing is listed', async () => {
    for (const options of [{ settings: { auditIntervalMs: 0 } }, { controller: [] }]) {
      const p = await audited(options);
      await pass(p);
      expect(p.calls()).toEqual([]);
      await p.stop();
    }
  });

  it('given snapshots that differ, when two passes have seen it, then metrics and one event say so', async () => {
    const p = await audited();
    for (const name of ['a', 'b']) record(p, name, await take(p, name));
    await take(p, 'left');
    record(p, 'gone', 'gone');
    await p.settle();
    p.driver.forgetCalls();
    await pass(p);
    expect([p.calls(), found(p, 'unconfirmed'), p.events]).toEqual([[list], 2, []]);
    await pass(p);
    expect([found(p, 'unconfirmed'), found(p, 'missingSnapshot'), found(p, 'unrecordedSnapshot')]).toEqual([0, 1, 1]);
    expect(p.events).toEqual([
      'Warning BackendSnapshotMissing gone: the CSI driver does not list snapshot gone in two audits, one after the other',
    ]);
    expect(p.logger.messages()).toContain('Compared the snapshots of the driver with VolumeSnapshotContents');
    const facts = expect.objectContaining({ class: 'missingSnapshot', content: 'gone' }) as unknown;
    expect(p.logger.lines).toContainEqual(expect.objectContaining({ facts }));
    await pass(p);
    expect([p.events.length, passes(p, 'ok'), p.calls().every((call) => call === list)]).toEqual([1, 3, true]);
    await p.stop();
  });

  it.each([
    { what: 'content', content: aContent() },
    { what: 'group', content: aGroupContent() },
  ])(
    'given a $what whose creation goes on failing, then passes are whole, and a snapshot without a content may be that of the $what',
    async ({ what, content }) => {
      let board: AuditBoard | undefined;
      const seed = [aClass(), aGroupClass()];
      const p = await audited({ seed, auditBoardOf: (clock) => (board = createAuditBoard({ clock })) });
      const left = await take(p, 'left');
      for (const method of ['CreateSnapshot', 'CreateVolumeGroupSnapshot'])
        p.driver.faults.add({ method, action: { kind: 'fail', code: 'Unavailable' } });
      p.server.seed(content);
      for (let n = 0; n < 3; n += 1) await pass(p);
      expect([passes(p, 'ok'), passes(p, 'failed'), found(p, 'unrecordedSnapshot')]).toEqual([3, 0, undefined]);
      const sentence = expect.stringContaining(`content ${what} is being created`) as string;
      expect(board?.state()).toMatchObject({ last: { findings: [{ class: 'young', handle: left, sentence }] } });
      await p.stop();
    },
  );

  it('given a call of the only worker that is under way, when a person asks, then the list waits for it, for ten minutes at most', async () => {
    let board: AuditBoard | undefined;
    const settings = { workerThreads: 1, timeoutMs: hourMs };
    const p = await audited({
      seed: [aClass()],
      settings,
      auditBoardOf: (clock) => (board = createAuditBoard({ clock })),
    });
    p.driver.faults.add({ method: 'CreateSnapshot', action: { kind: 'delay', ms: 900_000 } });
    p.server.seed(aContent());
    await p.settle();
    board?.ask();
    await p.clock.advance(590_000);
    expect(p.calls()).not.toContain(list);
    await p.clock.advance(20_000);
    expect(p.calls()).toContain(list);
    await p.clock.advance(900_000);
    await p.stop();
  });

  it('given a driver that lists less than half of the snapshots, then the pass is not whole, and says that it lists a part', async () => {
    let board: AuditBoard | undefined;
    const p = await audited({ auditBoardOf: (clock) => (board = createAuditBoard({ clock })) });
    record(p, 'gone', 'gone');
    await pass(p);
    const reason = 'the driver seems to list a part of its snapshots';
    expect([passes(p, 'incomplete'), board?.state()?.last?.reason]).toEqual([1, reason]);
    await p.stop();
  });

  it('given a content that is younger than the grace, when its snapshot is not listed, then it is young', async () => {
    const p = await audited();
    await p.clock.advance(0.99 * hourMs);
    const nowText = new Date(p.clock.nowMs()).toISOString();
    record(p, 'a', await take(p, 'a'));
    record(p, 'new', 'new');
    p.changeContent(
      (content) => ({ ...content, metadata: { ...content.metadata, creationTimestamp: nowText } }),
      'new',
    );
    for (let step = 0; step < 100 && passes(p, 'ok') === 0; step += 1) await p.clock.advance(5_000);
    expect([passes(p, 'ok'), found(p, 'young'), found(p, 'unconfirmed')]).toEqual([1, 1, undefined]);
    await p.stop();
  });

  it('[explain#122] given a leadership that ends in a pass, then the pass ends at once, and is not counted', async () => {
    const p = await audited();
    p.driver.faults.add({ method: 'ListSnapshots', action: { kind: 'hang' } });
    const isListing = (): boolean => p.driver.calls.at(-1)?.outcome === undefined && p.driver.calls.length > 0;
    for (let step = 0; step < 1_000 && !isListing(); step += 1) await p.clock.advance(5_000);
    expect(isListing()).toBe(true);
    const startedMs = p.clock.monotonicMs();
    await p.stop();
    expect(p.clock.monotonicMs() - startedMs).toBeLessThanOrEqual(1_000);
    expect([passes(p, 'ok'), passes(p, 'failed'), passes(p, 'incomplete')]).toEqual([0, 0, 0]);
  });

  it('given a list that fails, then it is counted, and the next pass begins at its time', async () => {
    const p = await audited();
    p.driver.faults.add({ method: 'ListSnapshots', times: 1, action: { kind: 'fail', code: 'Unavailable' } });
    await pass(p);
    await pass(p);
    expect([passes(p, 'failed'), passes(p, 'ok')]).toEqual([1, 1]);
    const message = 'Comparing the snapshots of the driver with VolumeSnapshotContents failed';
    expect(p.logger.lines).toContainEqual(expect.objectContaining({ message, facts: { loop: 'audit' } }));
    await p.stop();
  });
});
