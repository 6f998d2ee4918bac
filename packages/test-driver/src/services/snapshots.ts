// SPDX-License-Identifier: Apache-2.0
/** Snapshots of one volume. They are copies and do not depend on their volume. */
import type { TopologyRequirement } from '@csi-sidecars/csi';
import { exclusively, type Driver } from '../core/driver.ts';
import { pageOf } from '../core/paging.ts';
import type { SnapshotRecord, StringMap, VolumeRecord } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';
import { sameMap } from '../core/string-map.ts';
import { candidates, domainsOf, hasSnapshotTopology } from '../core/topology.ts';
import { snapshotMessage } from './answers.ts';
import type { Handler } from './handler.ts';
import { requireVolume, volumeKey } from './lookup.ts';

export interface Cut {
  readonly name: string;
  readonly volume: VolumeRecord;
  readonly parameters: StringMap;
  readonly groupId: string | undefined;
  readonly createdAtMs: number;
}

export function newSnapshot(driver: Driver, cut: Cut): SnapshotRecord {
  return {
    id: driver.newId('snapshot'),
    name: cut.name,
    order: driver.store.nextOrder(),
    phase: 'creating',
    sourceVolumeId: cut.volume.id,
    layout: cut.volume.layout,
    sizeBytes: cut.volume.capacityBytes,
    createdAtMs: cut.createdAtMs,
    readyAtMs: cut.createdAtMs + driver.settings.snapshotProcessingMs,
    parameters: cut.parameters,
    segments: cut.volume.segments,
    groupId: cut.groupId,
  };
}

export const createSnapshot: Handler<'/csi.v1.Controller/CreateSnapshot'> = async (driver, request, call) => {
  const { name, source_volume_id: sourceId, parameters } = request;
  if (name === '') refuse('InvalidArgument', 'name is missing');
  if (sourceId === '') refuse('InvalidArgument', 'source_volume_id is missing');
  const requirement = request.accessibility_requirements ?? null;
  if (requirement !== null && !hasSnapshotTopology(driver.settings)) {
    refuse('InvalidArgument', 'accessibility_requirements without the capability SNAPSHOT_ACCESSIBILITY_CONSTRAINTS');
  }
  const claim = { exclusive: [`snapshot name ${name}`], shared: [volumeKey(sourceId)] };
  return await exclusively({ driver, call, claim }, async () => {
    const { store } = driver;
    const existing = store.snapshots.named(name);
    if (existing?.phase === 'deleting') refuse('Aborted', `snapshot ${name} is being deleted`);
    if (existing?.phase === 'ready') {
      if (existing.sourceVolumeId !== sourceId) {
        refuse('AlreadyExists', `snapshot ${name} exists with source volume ${existing.sourceVolumeId}`);
      }
      if (!isInside(driver, existing.segments, requirement)) {
        refuse('AlreadyExists', `snapshot ${name} exists in another topology than the requested one`);
      }
      return { snapshot: snapshotMessage(driver, existing) };
    }
    if (existing !== undefined) await removeSnapshot(driver, existing);
    const volume = requireVolume(driver, sourceId);
    if (!isInside(driver, volume.segments, requirement)) {
      refuse('ResourceExhausted', `a snapshot of volume ${sourceId} cannot be in the requested topology`);
    }
    const createdAtMs = driver.clock.nowMs();
    const snapshot = newSnapshot(driver, { name, volume, parameters, groupId: undefined, createdAtMs });
    return { snapshot: snapshotMessage(driver, await take(driver, snapshot, volume)) };
  });
};

/** Whether a place meets the requirement of a request; undefined: everywhere. */
function isInside(
  { settings }: Driver,
  segments: StringMap | undefined,
  requirement: TopologyRequirement | null,
): boolean {
  if (requirement === null || segments === undefined) return true;
  return candidates(domainsOf(settings), requirement).some((domain) => sameMap(domain, segments));
}

/** As for volumes: the intent is durable before data is created, and the result before the answer. */
async function take(
  { store, backend }: Driver,
  snapshot: SnapshotRecord,
  volume: VolumeRecord,
): Promise<SnapshotRecord> {
  await store.snapshots.put(snapshot);
  try {
    await backend.createSnapshots([{ snapshot, volume }]);
    const ready: SnapshotRecord = { ...snapshot, phase: 'ready' };
    await store.snapshots.put(ready);
    return ready;
  } catch (error) {
    await removeSnapshot({ store, backend }, snapshot).catch(() => undefined); // the next attempt or start finds the record
    throw error;
  }
}

export async function removeSnapshot(
  { store, backend }: Pick<Driver, 'store' | 'backend'>,
  snapshot: SnapshotRecord,
): Promise<void> {
  const deleting: SnapshotRecord = { ...snapshot, phase: 'deleting' };
  await store.snapshots.put(deleting);
  await backend.deleteSnapshot(deleting);
  await store.snapshots.delete(snapshot.id);
}

export const deleteSnapshot: Handler<'/csi.v1.Controller/DeleteSnapshot'> = async (driver, request, call) => {
  const id = request.snapshot_id;
  if (id === '') refuse('InvalidArgument', 'snapshot_id is missing');
  const named = driver.store.snapshots.get(id);
  const exclusive = named === undefined ? [`snapshot ${id}`] : [`snapshot ${id}`, `snapshot name ${named.name}`];
  return await exclusively({ driver, call, claim: { exclusive } }, async () => {
    const snapshot = driver.store.snapshots.get(id);
    if (snapshot === undefined || snapshot.phase === 'creating') return {};
    if (snapshot.groupId !== undefined) {
      refuse('InvalidArgument', `snapshot ${id} is part of group snapshot ${snapshot.groupId}`);
    }
    await removeSnapshot(driver, snapshot);
    return {};
  });
};

export const listSnapshots: Handler<'/csi.v1.Controller/ListSnapshots'> = (driver, request) => {
  const { snapshot_id: id, source_volume_id: sourceId } = request;
  const matching = driver.store.snapshots
    .allReady()
    .filter(
      (snapshot) => (id === '' || snapshot.id === id) && (sourceId === '' || snapshot.sourceVolumeId === sourceId),
    );
  const page = pageOf(matching, request);
  return {
    entries: page.records.map((snapshot) => ({ snapshot: snapshotMessage(driver, snapshot) })),
    next_token: page.nextToken,
  };
};

export const getSnapshot: Handler<'/csi.v1.Controller/GetSnapshot'> = (driver, request) => {
  const id = request.snapshot_id;
  if (id === '') refuse('InvalidArgument', 'snapshot_id is missing');
  const snapshot = driver.store.snapshots.ready(id) ?? refuse('NotFound', `snapshot ${id} does not exist`);
  return { snapshot: snapshotMessage(driver, snapshot) };
};
