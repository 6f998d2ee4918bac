// SPDX-License-Identifier: Apache-2.0
/**
 * Group snapshots: all members or none. The group's record is saved first and made ready last, and members of a group
 * that never became ready are removed with it, so a crash leaves no member behind.
 */
import type { CreateVolumeGroupSnapshotRequest, VolumeGroupSnapshotInput } from '@csi-sidecars/csi';
import { exclusively, type Driver } from '../core/driver.ts';
import type { GroupRecord, SnapshotRecord } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';
import { sameMap } from '../core/string-map.ts';
import { isReady, snapshotMessage, timestamp } from './answers.ts';
import type { Handler } from './handler.ts';
import { requireVolume, volumeKey } from './lookup.ts';
import { newSnapshot } from './snapshots.ts';

type Create = Handler<'/csi.v1.GroupController/CreateVolumeGroupSnapshot'>;

export const createVolumeGroupSnapshot: Create = async (driver, request, call) => {
  const { name, source_volume_ids: sourceIds } = request;
  if (name === '') refuse('InvalidArgument', 'name is missing');
  if (sourceIds.length === 0) refuse('InvalidArgument', 'source_volume_ids are missing');
  if (new Set(sourceIds).size < sourceIds.length) refuse('InvalidArgument', 'source_volume_ids name a volume twice');
  const claim = { exclusive: [`group name ${name}`], shared: sourceIds.map(volumeKey) };
  return await exclusively({ driver, call, claim }, async () => {
    const existing = driver.store.groups.named(name);
    if (existing?.phase === 'deleting') refuse('Aborted', `group snapshot ${name} is being deleted`);
    if (existing?.phase === 'ready') {
      if (!sameSet(existing.sourceVolumeIds, sourceIds) || !sameMap(existing.parameters, request.parameters)) {
        refuse('AlreadyExists', `group snapshot ${name} exists with other volumes or parameters`);
      }
      return { group_snapshot: groupMessage(driver, existing) };
    }
    if (existing !== undefined) await removeGroup(driver, existing);
    return { group_snapshot: groupMessage(driver, await take(driver, request)) };
  });
};

async function take(driver: Driver, request: CreateVolumeGroupSnapshotRequest): Promise<GroupRecord> {
  const { store, backend } = driver;
  const volumes = request.source_volume_ids.map((id) => requireVolume(driver, id));
  const createdAtMs = driver.clock.nowMs();
  const id = driver.newId('group');
  const order = store.nextOrder();
  const { name, parameters } = request;
  const cuts = volumes.map((volume) => ({
    volume,
    snapshot: newSnapshot(driver, { name: `${name}-${volume.id}`, volume, parameters, groupId: id, createdAtMs }),
  }));
  const group: GroupRecord = {
    id,
    name,
    order,
    phase: 'creating',
    sourceVolumeIds: request.source_volume_ids,
    snapshotIds: cuts.map(({ snapshot }) => snapshot.id),
    createdAtMs,
    parameters,
  };
  await store.groups.put(group);
  try {
    for (const { snapshot } of cuts) await store.snapshots.put(snapshot);
    await backend.createSnapshots(cuts);
    for (const { snapshot } of cuts) await store.snapshots.put({ ...snapshot, phase: 'ready' });
    const ready: GroupRecord = { ...group, phase: 'ready' };
    await store.groups.put(ready);
    return ready;
  } catch (error) {
    await removeGroup(driver, group).catch(() => undefined); // the next attempt or the next start finds the record
    throw error;
  }
}

async function removeGroup(driver: Driver, group: GroupRecord): Promise<void> {
  const { store, backend } = driver;
  await store.groups.put({ ...group, phase: 'deleting' });
  for (const member of membersOf(driver, group)) {
    await backend.deleteSnapshot(member);
    await store.snapshots.delete(member.id);
  }
  await store.groups.delete(group.id);
}

function membersOf({ store }: Driver, group: GroupRecord): SnapshotRecord[] {
  return group.snapshotIds.flatMap((id) => store.snapshots.get(id) ?? []);
}

function groupMessage(driver: Driver, group: GroupRecord): VolumeGroupSnapshotInput {
  const members = membersOf(driver, group);
  return {
    group_snapshot_id: group.id,
    snapshots: members.map((member) => snapshotMessage(driver, member)),
    creation_time: timestamp(group.createdAtMs),
    ready_to_use: members.every((member) => isReady(driver, member)),
  };
}

type Delete = Handler<'/csi.v1.GroupController/DeleteVolumeGroupSnapshot'>;

export const deleteVolumeGroupSnapshot: Delete = async (driver, request, call) => {
  const id = request.group_snapshot_id;
  if (id === '') refuse('InvalidArgument', 'group_snapshot_id is missing');
  const named = driver.store.groups.get(id);
  const exclusive = [
    `group ${id}`,
    ...(named === undefined
      ? []
      : [`group name ${named.name}`, ...named.snapshotIds.map((member) => `snapshot ${member}`)]),
  ];
  return await exclusively({ driver, call, claim: { exclusive } }, async () => {
    const group = driver.store.groups.get(id);
    if (group === undefined || group.phase === 'creating') return {};
    requireMembers(group, request.snapshot_ids);
    await removeGroup(driver, group);
    return {};
  });
};

export const getVolumeGroupSnapshot: Handler<'/csi.v1.GroupController/GetVolumeGroupSnapshot'> = (driver, request) => {
  const id = request.group_snapshot_id;
  if (id === '') refuse('InvalidArgument', 'group_snapshot_id is missing');
  const group = driver.store.groups.ready(id) ?? refuse('NotFound', `group snapshot ${id} does not exist`);
  requireMembers(group, request.snapshot_ids);
  return { group_snapshot: groupMessage(driver, group) };
};

function requireMembers(group: GroupRecord, snapshotIds: readonly string[]): void {
  if (!sameSet(group.snapshotIds, snapshotIds)) {
    refuse('InvalidArgument', `snapshot_ids are not the members of group snapshot ${group.id}`);
  }
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  const set = new Set(a);
  return set.size === new Set(b).size && b.every((id) => set.has(id));
}
