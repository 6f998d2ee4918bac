// SPDX-License-Identifier: Apache-2.0
/**
 * The content loop: from a VolumeSnapshotContent to a snapshot on the storage system, its state until it is ready, and its deletion.
 * Rows C1 to C25 of the page of csi-snapshotter.
 *
 * Here: which rows apply to which content (`decide.ts`), requests and answers (`request.ts`, `answer.ts`), the status (`status.ts`), texts
 * (`messages.ts`). The rows themselves, and what each action does, are shared with `group-content/`: see `content-types.ts`.
 */
import type { Int64, VolumeSnapshotClass, VolumeSnapshotContent } from '@csi-sidecars/volume';
import type { ContentAction, ContentKind, ContentLoop, ContentState, ContentTypes } from '../content-types.ts';

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
}

export type SnapshotContentLoop = ContentLoop<SnapshotTypes>;
export type SnapshotState = ContentState<SnapshotTypes>;
export type SnapshotAction = ContentAction<SnapshotTypes>;
export type SnapshotKind = ContentKind<SnapshotTypes>;
