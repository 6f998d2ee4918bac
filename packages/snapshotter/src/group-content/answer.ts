// SPDX-License-Identifier: Apache-2.0
/** From the answers of the driver to what the status of a group needs. Whatever the driver answers, this throws nothing. */
import type {
  CreateVolumeGroupSnapshotResponse,
  GetVolumeGroupSnapshotResponse,
  Snapshot,
  VolumeGroupSnapshot,
} from '@csi-sidecars/csi';
import { definedOnly } from '@csi-sidecars/runtime';
import { ok, refuse, type Result, type VolumeSnapshotInfo } from '@csi-sidecars/volume';
import { sizeOf, timeOf } from '../int64.ts';
import * as shared from '../messages.ts';
import type { TakenGroupSnapshot } from './group-content.ts';

/** A driver may take a group without members. */
export function readCreated({ group_snapshot: group }: CreateVolumeGroupSnapshotResponse): Result<TakenGroupSnapshot> {
  const method = 'CreateVolumeGroupSnapshot';
  if (group === null) return refuse(shared.noSnapshot(method));
  const isNameless = group.group_snapshot_id === '' || group.snapshots.some((member) => member.snapshot_id === '');
  if (isNameless) return refuse(shared.noHandle(method));
  return ok({ ...toTaken(group), handle: group.group_snapshot_id, members: group.snapshots.map(toMember) });
}

/** The id of the answer is not compared: `handle` is what the content says. */
export function readGot(
  { group_snapshot: group }: GetVolumeGroupSnapshotResponse,
  handle: string,
): Result<TakenGroupSnapshot> {
  if (group === null) return refuse(shared.noSnapshot('GetVolumeGroupSnapshot'));
  return ok({ ...toTaken(group), handle, members: [] });
}

function toTaken(group: VolumeGroupSnapshot): Pick<TakenGroupSnapshot, 'isReady' | 'createdAt'> {
  return { isReady: group.ready_to_use, createdAt: timeOf(group.creation_time) };
}

function toMember(snapshot: Snapshot): VolumeSnapshotInfo {
  return {
    volumeHandle: snapshot.source_volume_id,
    snapshotHandle: snapshot.snapshot_id,
    readyToUse: snapshot.ready_to_use,
    ...definedOnly({ creationTime: timeOf(snapshot.creation_time), restoreSize: sizeOf(snapshot.size_bytes) }),
  };
}
