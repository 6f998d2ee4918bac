// SPDX-License-Identifier: Apache-2.0
import { FakeClock, type RecordingMetrics, recordingMetrics } from '@csi-sidecars/runtime/testing';
import { type VolumeGroupSnapshotContent, volumeGroupSnapshots, volumeSnapshots } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aDefaultClass,
  aGroup,
  aGroupClass,
  aSnapshot,
  aStaticContent,
  aStaticSnapshot,
  aVolume,
  withoutClass,
} from '../testing/builders.ts';
import { aController, forbidden } from '../testing/controller-fixture.ts';
import { staticGroupContent } from '../testing/group-states.ts';
import { createOperations, type Operations, groupOperations, singleOperations } from './operations.ts';

const gauge = 'snapshot_controller_operations_in_flight';
const histogram = 'snapshot_controller_operation_total_seconds';
const facts = { driver: 'd', type: 'dynamic' } as const;
const labels = (operation: string, status: string, more: object = {}) => ({
  driver_name: 'd',
  operation_name: operation,
  snapshot_type: 'dynamic',
  operation_status: status,
  ...more,
});

interface Bench {
  readonly metrics: RecordingMetrics;
  readonly clock: FakeClock;
  readonly operations: Operations;
}

function bench(): Bench {
  const [metrics, clock] = [recordingMetrics(), new FakeClock()];
  return { metrics, clock, operations: createOperations(metrics, clock) };
}

describe('operations', () => {
  it('given a start, then both metrics have the help, the labels and the buckets of upstream', () => {
    const { metrics } = bench();
    expect(metrics.definition(histogram)).toEqual({
      help: '[ALPHA] Total number of seconds spent by the controller on an operation',
      labels: ['driver_name', 'operation_name', 'snapshot_type', 'operation_status'],
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300, 600],
    });
    expect(metrics.definition(gauge)).toEqual({ help: '[ALPHA] Total number of operations in flight', labels: [] });
  });

  it('given a driver that is known at the end only, then the operation has its name', () => {
    const { metrics, operations } = bench();
    operations.start('CreateSnapshot', 'a', { ...facts, driver: '' });
    operations.succeed('CreateSnapshot', 'a', 'd');
    expect(metrics.observations(histogram, labels('CreateSnapshot', 'success'))).toEqual([0]);
  });

  it('[snapshot-controller#169] given an operation that has not begun, then its end is not observed', () => {
    const { metrics, operations } = bench();
    operations.succeed('CreateSnapshot', 'u', 'd');
    operations.gone(singleOperations, 'u');
    expect(metrics.observations(histogram, labels('CreateSnapshot', 'success'))).toEqual([]);
    expect(metrics.value(gauge)).toBe(0);
  });

  it('[snapshot-controller#170, 172] given operations that begin and end, then the gauge follows, and a second beginning counts as the first', async () => {
    const { metrics, clock, operations } = bench();
    operations.start('CreateSnapshot', 'a', facts);
    await clock.advance(1_500);
    operations.start('CreateSnapshot', 'a', facts);
    operations.start('CreateSnapshotAndReady', 'a', facts);
    expect(metrics.value(gauge)).toBe(2);
    operations.succeed('CreateSnapshot', 'a', '');
    expect(metrics.value(gauge)).toBe(1);
    expect(metrics.observations(histogram, labels('CreateSnapshot', 'success'))).toEqual([1.5]);
    for (let i = 0; i < 50; i++) operations.start('DeleteSnapshot', String(i), facts);
    expect(metrics.value(gauge)).toBe(51);
  });

  it('[snapshot-controller#171] given a deletion before readiness, then the creations are cancelled with the duration of the deletion', async () => {
    const { metrics, clock, operations } = bench();
    operations.start('CreateSnapshot', 'a', facts);
    operations.start('CreateSnapshotAndReady', 'a', facts);
    await clock.advance(10_000);
    operations.start('DeleteSnapshot', 'a', facts);
    await clock.advance(2_000);
    operations.gone(singleOperations, 'a');
    expect(metrics.observations(histogram, labels('DeleteSnapshot', 'success'))).toEqual([2]);
    for (const name of ['CreateSnapshot', 'CreateSnapshotAndReady']) {
      expect(metrics.observations(histogram, labels(name, 'cancel'))).toEqual([2]);
    }
    expect(metrics.value(gauge)).toBe(0);
  });

  it('[P19] given a group that is deleted before it is ready, then its creations are cancelled, and nothing stays in flight', () => {
    const { metrics, operations } = bench();
    operations.start('CreateGroupSnapshot', 'a', facts);
    operations.start('DeleteGroupSnapshot', 'a', facts);
    operations.gone(groupOperations, 'a');
    expect(metrics.observations(histogram, labels('CreateGroupSnapshot', 'cancel'))).toEqual([0]);
    expect(metrics.observations(histogram, labels('DeleteGroupSnapshot', 'success'))).toEqual([0]);
    expect(metrics.value(gauge)).toBe(0);
  });

  it('[P19] given an object that goes without a deletion that was seen, then its creations are cancelled all the same', () => {
    const { metrics, operations } = bench();
    operations.start('CreateSnapshot', 'a', facts);
    operations.gone(singleOperations, 'a');
    expect(metrics.value(gauge)).toBe(0);
  });

  it('given no driver, then it is called unknown', () => {
    const { metrics, operations } = bench();
    operations.start('CreateSnapshot', 'a', { ...facts, driver: '' });
    operations.succeed('CreateSnapshot', 'a', '');
    expect(metrics.observations(histogram, labels('CreateSnapshot', 'success', { driver_name: 'unknown' }))).toEqual([
      0,
    ]);
  });
});

describe('in the controller', () => {
  const ours = (operation: string, status: string, type = 'dynamic') =>
    labels(operation, status, { driver_name: 'd.example.com', snapshot_type: type });

  it('given a dynamic snapshot, then creation, readiness and deletion are observed', async () => {
    const it = await aController({ with: [aSnapshot()] });
    expect(it.metrics.value(gauge)).toBe(2);
    await it.clock.advance(3_000);
    await it.report({ creationTime: 1n, readyToUse: false });
    await it.clock.advance(2_000);
    await it.report({ creationTime: 1n, readyToUse: true });
    expect(it.metrics.observations(histogram, ours('CreateSnapshot', 'success'))).toEqual([3]);
    expect(it.metrics.observations(histogram, ours('CreateSnapshotAndReady', 'success'))).toEqual([5]);
    expect(it.metrics.value(gauge)).toBe(0);
    await it.remove(volumeSnapshots, { namespace: 'team', name: 'snap' });
    expect(it.metrics.value(gauge)).toBe(1);
    await it.letGo();
    expect(it.metrics.observations(histogram, ours('DeleteSnapshot', 'success'))).toEqual([0]);
    expect(it.metrics.value(gauge)).toBe(0);
    await it.stop();
  });

  it('[snapshot-controller#171] given a static snapshot that is deleted before it is ready, then its creation is cancelled', async () => {
    const it = await aController({
      seed: [aClass()],
      with: [aStaticSnapshot(), aStaticContent({ spec: { deletionPolicy: 'Retain' } })],
    });
    await it.remove(volumeSnapshots, { namespace: 'team', name: 'snap' });
    expect(it.metrics.observations(histogram, ours('CreateSnapshotAndReady', 'cancel', 'pre-provisioned'))).toEqual([
      0,
    ]);
    expect(it.metrics.value(gauge)).toBe(0);
    await it.stop();
  });

  it('given a snapshot whose class is missing, then it is counted when the class comes', async () => {
    const it = await aController({ seed: [aClaim(), aVolume()], with: [aSnapshot()] });
    await it.clock.advance(60_000);
    expect(it.metrics.value(gauge)).toBe(0);
    await it.add(aClass());
    expect(it.metrics.value(gauge)).toBe(2);
    await it.stop();
  });

  it('[snapshot-controller#171] given a snapshot of the default class whose content never comes, when it is deleted, then all operations name the driver of the class', async () => {
    const it = await aController({ seed: [aClaim(), aVolume(), aDefaultClass()] });
    it.fault('create volumesnapshotcontents', forbidden, Infinity);
    await it.add(withoutClass(aSnapshot()));
    await it.clock.advance(3_000);
    await it.remove(volumeSnapshots, { namespace: 'team', name: 'snap' });
    expect(it.metrics.observations(histogram, ours('DeleteSnapshot', 'success'))).toEqual([0]);
    expect(it.metrics.observations(histogram, ours('CreateSnapshot', 'cancel'))).toEqual([0]);
    expect(it.metrics.observations(histogram, ours('CreateSnapshotAndReady', 'cancel'))).toEqual([0]);
    await it.stop();
  });

  it('given a dynamic group, then creation, readiness and deletion are observed', async () => {
    const it = await aController({
      seed: [aClaim({ metadata: { labels: { app: 'db' } } }), aVolume(), aGroupClass()],
      with: [aGroup()],
    });
    expect(it.metrics.value(gauge)).toBe(2);
    await it.clock.advance(3_000);
    const creationTime = '2026-01-01T00:00:00Z';
    await it.reportGroup({ creationTime, readyToUse: false });
    await it.clock.advance(2_000);
    const volumeSnapshotInfoList = [{ volumeHandle: 'handle-1', snapshotHandle: 's1' }];
    await it.reportGroup({
      creationTime,
      readyToUse: true,
      volumeGroupSnapshotHandle: 'g1',
      volumeSnapshotInfoList,
    });
    expect(it.metrics.observations(histogram, ours('CreateGroupSnapshot', 'success'))).toEqual([3]);
    expect(it.metrics.observations(histogram, ours('CreateGroupSnapshotAndReady', 'success'))).toEqual([5]);
    await it.remove(volumeGroupSnapshots, { namespace: 'team', name: 'group' });
    await it.clock.advance(1_000);
    await it.letGroupGo();
    expect(it.group()).toBeUndefined();
    expect(it.metrics.observations(histogram, ours('DeleteGroupSnapshot', 'success'))).toEqual([1]);
    await it.stop();
  });

  it('[P19] given a static group that is deleted before it is ready, then its creations are cancelled, and nothing stays in flight', async () => {
    const group = aGroup({ spec: { source: { volumeGroupSnapshotContentName: 'content' } } });
    const spec = { ...staticGroupContent.spec, deletionPolicy: 'Retain' as const };
    const content: VolumeGroupSnapshotContent = { ...staticGroupContent, spec };
    const it = await aController({ seed: [aGroupClass()], with: [group, content] });
    await it.remove(volumeGroupSnapshots, { namespace: 'team', name: 'group' });
    for (const operation of ['CreateGroupSnapshot', 'CreateGroupSnapshotAndReady']) {
      expect(it.metrics.observations(histogram, ours(operation, 'cancel', 'pre-provisioned'))).toEqual([0]);
    }
    expect(it.metrics.value(gauge)).toBe(0);
    await it.stop();
  });

  it('given the metrics of the process, then only these two are made', async () => {
    const it = await aController();
    expect(it.metrics.names().filter((name) => name.startsWith('snapshot_controller'))).toEqual([gauge, histogram]);
    await it.stop();
  });
});
