// SPDX-License-Identifier: Apache-2.0
/**
 * What an answer of the driver changes in the status of a group. What is there once stays: only readiness changes, and handle and members of a
 * content that is being deleted, where the group is another one.
 */
import { definedOnly } from '@csi-sidecars/runtime';
import { nanosecondsToTime, type VolumeGroupSnapshotContent, type VolumeSnapshotInfo } from '@csi-sidecars/volume';
import { newHandleOf } from '../content-object.ts';
import type { StatusChange } from '../content-types.ts';
import { timeOfNow } from '../int64.ts';
import { readiness } from '../readiness.ts';
import { type TakenGroupSnapshot, volumesOf } from './group-content.ts';

export function statusOf(
  content: VolumeGroupSnapshotContent,
  taken: TakenGroupSnapshot,
  nowMs: number,
): StatusChange | undefined {
  const { status } = content;
  const handles = { known: status?.volumeGroupSnapshotHandle, taken: taken.handle };
  const handle = newHandleOf(content, handles);
  const createdAt = taken.createdAt ?? timeOfNow(nowMs);
  const change: StatusChange = {
    ...readiness(status, taken.isReady),
    ...definedOnly({
      volumeGroupSnapshotHandle: handle,
      creationTime: status?.creationTime === undefined ? nanosecondsToTime(createdAt) : undefined,
      volumeSnapshotInfoList: changedMembers(
        handle === undefined ? status?.volumeSnapshotInfoList : [],
        content,
        taken.members,
      ),
    }),
  };
  return Object.keys(change).length === 0 ? undefined : change;
}

/**
 * What the list says of a volume stays, except that its snapshot may become ready. A volume of the content that an earlier answer left out is
 * added: otherwise its snapshot would be no member, and would not be deleted with the group. Undefined: nothing changes.
 */
function changedMembers(
  known: readonly VolumeSnapshotInfo[] = [],
  content: VolumeGroupSnapshotContent,
  taken: readonly VolumeSnapshotInfo[],
): readonly VolumeSnapshotInfo[] | undefined {
  if (taken.length === 0) return undefined;
  if (known.length === 0) return taken;
  const ready = new Set(
    taken.filter(({ readyToUse }) => readyToUse === true).map(({ snapshotHandle }) => snapshotHandle),
  );
  const becomesReady = ({ snapshotHandle, readyToUse }: VolumeSnapshotInfo): boolean =>
    readyToUse !== true && ready.has(snapshotHandle);
  const listed = new Set(known.map(({ volumeHandle }) => volumeHandle));
  const isLate = ({ volumeHandle = '' }: VolumeSnapshotInfo): boolean =>
    !listed.has(volumeHandle) && volumesOf(content).includes(volumeHandle);
  const late = taken.filter(isLate);
  if (late.length === 0 && !known.some(becomesReady)) return undefined;
  return [...known.map((member) => (becomesReady(member) ? { ...member, readyToUse: true } : member)), ...late];
}

/** The list of members stays, the error does not. */
export const clearedStatus: StatusChange = {
  volumeGroupSnapshotHandle: null,
  readyToUse: null,
  creationTime: null,
  error: null,
};
