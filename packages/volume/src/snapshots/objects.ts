// SPDX-License-Identifier: Apache-2.0
/**
 * The objects of the snapshot API (`snapshot.storage.k8s.io/v1`, `groupsnapshot.storage.k8s.io/v1`) as they are on the wire.
 *
 * Absent, empty and false are different things here: a content without `status` was never worked on, one with an empty status was.
 */
import type { KubeObject } from '@csi-sidecars/runtime';

/** An int64. Beyond 2^53 a bigint: JavaScript numbers cannot hold a time in nanoseconds. */
export type Int64 = number | bigint;

export type DeletionPolicy = 'Delete' | 'Retain';

export interface SnapshotError {
  /** RFC 3339, UTC, seconds. */
  readonly time?: string;
  readonly message?: string;
}

/** A core ObjectReference. */
export interface ContentReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
  /** Absent or empty in a pre-provisioned content that is not bound yet. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}

/** All of its expressions hold, each with one of its values. */
export interface TopologySelectorTerm {
  readonly matchLabelExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[];
}

export interface VolumeSnapshot extends KubeObject {
  readonly spec?: {
    readonly source?: {
      readonly persistentVolumeClaimName?: string;
      readonly volumeSnapshotContentName?: string;
    };
    readonly volumeSnapshotClassName?: string;
  };
  readonly status?: VolumeSnapshotStatus;
}

export interface VolumeSnapshotStatus {
  readonly boundVolumeSnapshotContentName?: string;
  /** RFC 3339, UTC, seconds. */
  readonly creationTime?: string;
  readonly readyToUse?: boolean;
  /** A quantity. */
  readonly restoreSize?: string;
  readonly error?: SnapshotError;
  readonly volumeGroupSnapshotName?: string;
}

export interface VolumeSnapshotContent extends KubeObject {
  readonly spec?: {
    readonly deletionPolicy?: DeletionPolicy;
    readonly driver?: string;
    /** Exactly one of the two. */
    readonly source?: { readonly volumeHandle?: string; readonly snapshotHandle?: string };
    readonly sourceVolumeMode?: string;
    readonly volumeSnapshotClassName?: string;
    readonly volumeSnapshotRef?: ContentReference;
    /** Alpha: where the snapshot can be used; one of the terms has to hold. Definitions that are released lack the field. */
    readonly nodeAffinity?: readonly TopologySelectorTerm[];
  };
  readonly status?: VolumeSnapshotContentStatus;
}

export interface VolumeSnapshotContentStatus {
  /** Nanoseconds since 1970. */
  readonly creationTime?: Int64;
  readonly readyToUse?: boolean;
  /** Bytes. */
  readonly restoreSize?: Int64;
  readonly snapshotHandle?: string;
  readonly volumeGroupSnapshotHandle?: string;
  readonly error?: SnapshotError;
}

/** Has neither spec nor status. */
export interface VolumeSnapshotClass extends KubeObject {
  readonly driver?: string;
  readonly deletionPolicy?: DeletionPolicy;
  readonly parameters?: Readonly<Record<string, string>>;
  /** Alpha: where snapshots have to be usable. Definitions that are released lack the field. */
  readonly allowedTopologies?: readonly TopologySelectorTerm[];
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface VolumeGroupSnapshot extends KubeObject {
  readonly spec?: {
    /** Exactly one of the two. */
    readonly source?: { readonly selector?: LabelSelector; readonly volumeGroupSnapshotContentName?: string };
    readonly volumeGroupSnapshotClassName?: string;
  };
  readonly status?: VolumeGroupSnapshotStatus;
}

export interface VolumeGroupSnapshotStatus {
  readonly boundVolumeGroupSnapshotContentName?: string;
  /** RFC 3339, UTC, seconds. */
  readonly creationTime?: string;
  readonly readyToUse?: boolean;
  readonly error?: SnapshotError;
}

export interface VolumeGroupSnapshotContent extends KubeObject {
  readonly spec?: {
    readonly deletionPolicy?: DeletionPolicy;
    readonly driver?: string;
    /** Exactly one of the two. */
    readonly source?: {
      readonly volumeHandles?: readonly string[];
      readonly groupSnapshotHandles?: {
        readonly volumeGroupSnapshotHandle: string;
        readonly volumeSnapshotHandles: readonly string[];
      };
    };
    readonly volumeGroupSnapshotClassName?: string;
    readonly volumeGroupSnapshotRef?: ContentReference;
  };
  readonly status?: VolumeGroupSnapshotContentStatus;
}

export interface VolumeGroupSnapshotContentStatus {
  readonly volumeGroupSnapshotHandle?: string;
  /** RFC 3339, UTC, seconds: not nanoseconds, as in a VolumeSnapshotContent. */
  readonly creationTime?: string;
  readonly readyToUse?: boolean;
  readonly error?: SnapshotError;
  readonly volumeSnapshotInfoList?: readonly VolumeSnapshotInfo[];
}

export interface VolumeSnapshotInfo {
  readonly volumeHandle?: string;
  readonly snapshotHandle?: string;
  /** Nanoseconds since 1970. */
  readonly creationTime?: Int64;
  readonly readyToUse?: boolean;
  /** Bytes. */
  readonly restoreSize?: Int64;
}

/** Has neither spec nor status. */
export interface VolumeGroupSnapshotClass extends KubeObject {
  readonly driver?: string;
  readonly deletionPolicy?: DeletionPolicy;
  readonly parameters?: Readonly<Record<string, string>>;
}
