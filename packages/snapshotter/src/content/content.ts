// SPDX-License-Identifier: Apache-2.0
/** VolumeSnapshotContents: their types, and what single fields mean. */
import type { Topology } from '@csi-sidecars/csi';
import {
  type Int64,
  snapshotAnnotations,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import { handleOf, hasAnnotation } from '../content-object.ts';
import type { ContentAnnotations, ContentTypes } from '../content-types.ts';

export interface SnapshotTypes extends ContentTypes {
  readonly content: VolumeSnapshotContent;
  readonly class: VolumeSnapshotClass;
  readonly create: '/csi.v1.Controller/CreateSnapshot';
  readonly query: '/csi.v1.Controller/ListSnapshots';
  readonly delete: '/csi.v1.Controller/DeleteSnapshot';
  readonly taken: TakenSnapshot;
}

export interface TakenSnapshot {
  readonly handle: string;
  readonly isReady: boolean;
  /** Nanoseconds since 1970. Undefined: the driver does not know it. */
  readonly createdAt: Int64 | undefined;
  /** Bytes. */
  readonly size: Int64 | undefined;
  /** The handle of the group that the snapshot belongs to; empty: it belongs to none. */
  readonly groupHandle: string;
  /** Where it can be used, as the driver answered. Empty: the driver does not say. */
  readonly topologies: readonly Topology[];
}

export const annotations: ContentAnnotations = {
  beingCreated: snapshotAnnotations.beingCreated,
  beingDeleted: snapshotAnnotations.beingDeleted,
  secretName: snapshotAnnotations.deletionSecretName,
  secretNamespace: snapshotAnnotations.deletionSecretNamespace,
};

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

/** The handle of a snapshot that was there before its content. */
export function sourceHandleOf({ spec }: VolumeSnapshotContent): string | undefined {
  return handleOf(spec?.source?.snapshotHandle);
}
