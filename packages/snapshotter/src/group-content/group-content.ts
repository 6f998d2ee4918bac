// SPDX-License-Identifier: Apache-2.0
/**
 * VolumeGroupSnapshotContents: their types, and what single fields mean. The contents of the members are made by snapshot-controller and
 * belong to `content/`.
 */
import {
  type Int64,
  snapshotAnnotations,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshotInfo,
} from '@csi-sidecars/volume';
import { handleOf } from '../content-object.ts';
import type { ContentAnnotations, ContentTypes } from '../content-types.ts';

export interface GroupSnapshotTypes extends ContentTypes {
  readonly content: VolumeGroupSnapshotContent;
  readonly class: VolumeGroupSnapshotClass;
  readonly create: '/csi.v1.GroupController/CreateVolumeGroupSnapshot';
  readonly query: '/csi.v1.GroupController/GetVolumeGroupSnapshot';
  readonly delete: '/csi.v1.GroupController/DeleteVolumeGroupSnapshot';
  readonly taken: TakenGroupSnapshot;
}

export interface TakenGroupSnapshot {
  readonly handle: string;
  readonly isReady: boolean;
  /** Nanoseconds since 1970. Undefined: the driver does not know it. */
  readonly createdAt: Int64 | undefined;
  /** Empty for a pre-provisioned group: its content names the members. */
  readonly members: readonly VolumeSnapshotInfo[];
}

export const annotations: ContentAnnotations = {
  beingCreated: snapshotAnnotations.groupBeingCreated,
  beingDeleted: snapshotAnnotations.groupBeingDeleted,
  secretName: snapshotAnnotations.groupDeletionSecretName,
  secretNamespace: snapshotAnnotations.groupDeletionSecretNamespace,
};

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
