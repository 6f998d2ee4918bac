// SPDX-License-Identifier: Apache-2.0
/**
 * The group loop: from a VolumeGroupSnapshotContent to a group of snapshots on the storage system, its state until it is ready, and its
 * deletion. Rows G1 to G24 of the page of csi-snapshotter.
 *
 * Here: which rows apply to which content (`decide.ts`), requests and answers (`request.ts`, `answer.ts`), the status (`status.ts`), texts
 * (`messages.ts`). The rows themselves, and what each action does, are shared with `content/`: see `content-types.ts`. The contents of the
 * members are made by snapshot-controller and belong to `content/`.
 */
import type {
  Int64,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
  VolumeSnapshotInfo,
} from '@csi-sidecars/volume';
import type { ContentAction, ContentKind, ContentLoop, ContentState, ContentTypes } from '../content-types.ts';

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

export type GroupSnapshotContentLoop = ContentLoop<GroupSnapshotTypes>;
export type GroupSnapshotState = ContentState<GroupSnapshotTypes>;
export type GroupSnapshotAction = ContentAction<GroupSnapshotTypes>;
export type GroupSnapshotKind = ContentKind<GroupSnapshotTypes>;
