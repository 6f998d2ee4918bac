// SPDX-License-Identifier: Apache-2.0
/** What single fields of a VolumeSnapshotContent mean. */
import { snapshotAnnotations, type VolumeSnapshotContent } from '@csi-sidecars/volume';
import { handleOf, hasAnnotation } from '../content-object.ts';

/** The volume that the snapshot is taken of; empty: the content names none. */
export function volumeOf({ spec }: VolumeSnapshotContent): string {
  return spec?.source?.volumeHandle ?? '';
}

/** Member of a dynamic group: the group is taken as a whole, and deleted as a whole. */
export function isMember(content: VolumeSnapshotContent): boolean {
  return hasAnnotation(content, snapshotAnnotations.groupHandle);
}

/** The status says that the snapshot belongs to a group: it must not be deleted alone. */
export function isGrouped({ status }: VolumeSnapshotContent): boolean {
  return handleOf(status?.volumeGroupSnapshotHandle) !== undefined;
}

/** The handle that the status has. */
export function statusHandleOf({ status }: VolumeSnapshotContent): string | undefined {
  return handleOf(status?.snapshotHandle);
}

/** The handle of the snapshot that goes with its content. Undefined: there is none, or it stays. */
export function deletedHandleOf(content: VolumeSnapshotContent): string | undefined {
  return content.spec?.deletionPolicy === 'Delete' && !isGrouped(content) ? statusHandleOf(content) : undefined;
}

/** The handle that the driver is asked for. */
export function listedHandleOf(content: VolumeSnapshotContent): string | undefined {
  return statusHandleOf(content) ?? handleOf(content.spec?.source?.snapshotHandle);
}

/** The handle that belongs into the status. */
export function savedHandleOf(content: VolumeSnapshotContent): string | undefined {
  return handleOf(content.spec?.source?.snapshotHandle) ?? statusHandleOf(content);
}
