// SPDX-License-Identifier: Apache-2.0
/** What an answer of the driver changes in the status of a group. What is there once stays: only readiness changes. */
import { definedOnly } from '@csi-sidecars/runtime';
import { nanosecondsToTime, type VolumeGroupSnapshotContent, type VolumeSnapshotInfo } from '@csi-sidecars/volume';
import { handleOf } from '../content-object.ts';
import type { StatusChange } from '../content-types.ts';
import { timeOfNow } from '../int64.ts';
import { readiness } from '../readiness.ts';
import type { TakenGroupSnapshot } from './state.ts';

export function statusOf(
  { status }: VolumeGroupSnapshotContent,
  taken: TakenGroupSnapshot,
  nowMs: number,
): StatusChange | undefined {
  const createdAt = taken.createdAt ?? timeOfNow(nowMs);
  const change: StatusChange = {
    ...readiness(status, taken.isReady),
    ...definedOnly({
      volumeGroupSnapshotHandle: handleOf(status?.volumeGroupSnapshotHandle) === undefined ? taken.handle : undefined,
      creationTime: status?.creationTime === undefined ? nanosecondsToTime(createdAt) : undefined,
      volumeSnapshotInfoList: changedMembers(status?.volumeSnapshotInfoList ?? [], taken.members),
    }),
  };
  return Object.keys(change).length === 0 ? undefined : change;
}

/**
 * A member that is in the list may become ready, and nothing else of it changes. One that only a later answer names is added: a group is
 * deleted with the members that are listed. Undefined: nothing changes.
 */
function changedMembers(
  known: readonly VolumeSnapshotInfo[],
  taken: readonly VolumeSnapshotInfo[],
): readonly VolumeSnapshotInfo[] | undefined {
  if (taken.length === 0) return undefined;
  if (known.length === 0) return taken;
  const ready = new Set(
    taken.filter(({ readyToUse }) => readyToUse === true).map(({ snapshotHandle }) => snapshotHandle),
  );
  const becomesReady = ({ snapshotHandle, readyToUse }: VolumeSnapshotInfo): boolean =>
    readyToUse !== true && ready.has(snapshotHandle);
  const snapshots = new Set(known.map(({ snapshotHandle }) => snapshotHandle));
  const volumes = new Set(known.map(({ volumeHandle }) => volumeHandle));
  // Another snapshot of a volume that has one in the list is the same as another id of a single snapshot: the first one stays.
  const added = taken.filter((member) => !snapshots.has(member.snapshotHandle) && !volumes.has(member.volumeHandle));
  if (added.length === 0 && !known.some(becomesReady)) return undefined;
  return [...known.map((member) => (becomesReady(member) ? { ...member, readyToUse: true } : member)), ...added];
}

/** The list of members stays, the error does not. */
export const clearedStatus: StatusChange = {
  volumeGroupSnapshotHandle: null,
  readyToUse: null,
  creationTime: null,
  error: null,
};
