// SPDX-License-Identifier: Apache-2.0
/**
 * What a VolumeSnapshot and a VolumeGroupSnapshot have in common: each is bound to a content, which exists before the snapshot is cut and is
 * deleted with it. In this folder *snapshot* stands for either, and `Kind` holds everything in which the two differ.
 *
 * Not here: what only one of them does (claims in `snapshot/`, members in `group-snapshot/`), and contents on their own (`content/`).
 */
import type { Cache, Flow, Resource } from '@csi-sidecars/runtime';
import type {
  ContentReference,
  VolumeGroupSnapshot,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import type { ClassKind } from '../class-resolution.ts';
import type { Conclusion } from '../conclusions.ts';
import type { ContentMark } from '../content-mark.ts';
import type { OperationNames } from '../operations.ts';
import type * as messages from '../snapshot/messages.ts';

export type AnySnapshot = VolumeSnapshot | VolumeGroupSnapshot;
export type AnyContent = VolumeSnapshotContent | VolumeGroupSnapshotContent;

/** The two objects that are bound to each other. */
export interface Pair<S extends AnySnapshot, C extends AnyContent> {
  readonly snapshots: Resource<S>;
  readonly contents: Resource<C>;
  readonly mark: ContentMark;
  readonly referenceOf: (content: C) => ContentReference | undefined;
  /** The content that counts. Empty: none. */
  readonly contentNameFor: (snapshot: S) => string;
}

/** The types of one kind, named once. */
export interface Types {
  readonly snapshot: AnySnapshot;
  readonly content: AnyContent;
  readonly class: VolumeSnapshotClass | VolumeGroupSnapshotClass;
  /** The caches of the loop. */
  readonly caches: object;
}

/** Pure. */
export interface Kind<T extends Types> extends Pair<T['snapshot'], T['content']> {
  readonly classes: ClassKind;
  readonly operations: OperationNames;
  readonly rows: Rows;
  readonly messages: Messages;
  /** The fields that say to what the other object is bound, and the class. */
  readonly fields: { readonly bound: string; readonly reference: string; readonly className: string };
  readonly cachesOf: (caches: T['caches']) => {
    readonly snapshots: Cache<T['snapshot']>;
    readonly contents: Cache<T['content']>;
  };
  /** Where the snapshot has to find its content by its origin. Empty: nowhere. */
  readonly expectedContentName: (snapshot: T['snapshot']) => string;
  readonly classNameOf: (object: T['snapshot'] | T['content']) => string | undefined;
  /** An administrator made its content. */
  readonly isStatic: (snapshot: T['snapshot']) => boolean;
  readonly isStaticContent: (content: T['content']) => boolean;
  readonly isDynamicContent: (content: T['content']) => boolean;
  /** A content that belongs to another snapshot is not touched when this one is deleted. */
  readonly isContentOf: (snapshot: T['snapshot'], content: T['content']) => boolean;
}

/** The row of each step that both kinds have. */
export interface Rows {
  readonly begin: string;
  readonly noClass: string;
  readonly noContentName: string;
  readonly wrongOrigin: string;
  readonly misbound: string;
  readonly prepare: string;
  readonly lostContent: string;
  readonly create: string;
  readonly noContent: string;
  readonly bind: string;
  readonly status: string;
  readonly followed: string;
  readonly misboundReady: string;
  readonly ready: string;
  readonly beginDeletion: string;
  readonly askForDeletion: string;
  readonly mark: string;
  readonly deleteContent: string;
}

/** The texts of both kinds have the same names, of which these are used here. */
type Messages = Pick<
  typeof messages,
  | 'noContentName'
  | 'classFailed'
  | 'contentMissing'
  | 'contentNotStatic'
  | 'contentNotDynamic'
  | 'contentMisbound'
  | 'misbound'
  | 'bindFailed'
  | 'creationFailed'
  | 'statusFailed'
  | 'finalizerFailed'
  | 'contentNotCreated'
  | 'contentNotDeleted'
  | 'creating'
  | 'created'
  | 'ready'
>;

/** What the flow of a run knows of a snapshot that is there. */
export interface Binding<T extends Types> {
  readonly kind: Kind<T>;
  readonly snapshot: T['snapshot'];
  /** Under the name where the snapshot has to find it, whether or not it is bound to it. */
  readonly content: T['content'] | undefined;
  readonly classes: readonly T['class'][];
  /** The snapshot was read or written in this run: it is there, and its finalizers keep it. */
  readonly isConfirmed: boolean;
  /** The flow of the loop from its top, for a snapshot that is gone or deleted since the run began. */
  readonly again: (newer: {
    readonly snapshot: T['snapshot'] | undefined;
    readonly content: T['content'] | undefined;
  }) => Flow<Conclusion>;
}
