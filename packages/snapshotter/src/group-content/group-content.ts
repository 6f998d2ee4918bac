// SPDX-License-Identifier: Apache-2.0
/** What single fields of a VolumeGroupSnapshotContent mean. */
import type { VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import { handleOf } from '../content-object.ts';

export function volumesOf({ spec }: VolumeGroupSnapshotContent): readonly string[] {
  return spec?.source?.volumeHandles ?? [];
}

/** The handle that the status has. */
export function statusHandleOf({ status }: VolumeGroupSnapshotContent): string | undefined {
  return handleOf(status?.volumeGroupSnapshotHandle);
}

/** The group goes with its content. */
export function isDeletable(content: VolumeGroupSnapshotContent): boolean {
  return content.spec?.deletionPolicy === 'Delete' && statusHandleOf(content) !== undefined;
}

/** The handle of a pre-provisioned group. */
export function sourceHandleOf({ spec }: VolumeGroupSnapshotContent): string | undefined {
  return handleOf(spec?.source?.groupSnapshotHandles?.volumeGroupSnapshotHandle);
}

/** The members of a pre-provisioned group. */
export function sourceMembersOf({ spec }: VolumeGroupSnapshotContent): readonly string[] {
  return spec?.source?.groupSnapshotHandles?.volumeSnapshotHandles ?? [];
}

/** The members that are deleted with the group. */
export function membersOf(content: VolumeGroupSnapshotContent): readonly string[] {
  const members = content.status?.volumeSnapshotInfoList ?? [];
  if (members.length === 0) return sourceMembersOf(content);
  return members.flatMap(({ snapshotHandle }) => handleOf(snapshotHandle) ?? []);
}
