// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's records. One record is one file of the program's state folder, so a record carries everything that
 * must change together. Records are values: a change is a new record put into the store.
 *
 * States of a record: `creating` (intent saved, data being created, invisible to callers), `ready`, `deleting` (intent
 * saved, data being removed, already gone for callers). A start that finds `creating` or `deleting` finishes the removal.
 */
import type { VolumeHealthErrorType } from '@csi-sidecars/csi';

export type StringMap = Readonly<Record<string, string>>;
export type Phase = 'creating' | 'ready' | 'deleting';

/** The layout of a volume: a plain directory, a file system inside a sparse file, or a sparse file as raw device. */
export type Layout = 'directory' | 'filesystem' | 'block';

export interface Access {
  readonly type: 'mount' | 'block';
  readonly mode: string;
  readonly fsType: string;
  readonly mountFlags: readonly string[];
  readonly mountGroup: string;
}

export type ContentSource =
  | { readonly kind: 'empty' }
  | { readonly kind: 'snapshot'; readonly id: string }
  | { readonly kind: 'volume'; readonly id: string };

/** Something that is wrong with a volume. */
export interface HealthEntry {
  /** As in the CSI declaration, or a number that it does not have. */
  readonly status: VolumeHealthErrorType | number;
  /** In CamelCase. */
  readonly reason: string;
  readonly message: string;
}

export interface Attachment {
  readonly nodeId: string;
  readonly readonly: boolean;
  readonly access: Access;
  /** The answer of ControllerPublishVolume; the node side requires it unchanged. */
  readonly publishContext: StringMap;
}

export interface Staging {
  readonly nodeId: string;
  readonly path: string;
  readonly access: Access;
}

export interface Publication {
  readonly nodeId: string;
  readonly path: string;
  readonly stagingPath: string;
  readonly readonly: boolean;
  readonly access: Access;
}

export interface StoredRecord {
  readonly id: string;
  /** The caller's key for idempotency. */
  readonly name: string;
  /** Place in lists; grows monotonically, so that a page token survives deletions. */
  readonly order: number;
  readonly phase: Phase;
}

export interface VolumeRecord extends StoredRecord {
  readonly lifecycle: 'persistent' | 'ephemeral';
  readonly layout: Layout;
  readonly capacityBytes: bigint;
  /** The values requested at creation, with which a repeated CreateVolume is compared. */
  readonly created: {
    readonly accesses: readonly Access[];
    readonly parameters: StringMap;
    readonly mutableParameters: StringMap;
    readonly source: ContentSource;
  };
  readonly mutableParameters: StringMap;
  readonly pool: string | undefined;
  /** The one topology domain that the volume lives in; undefined means reachable from everywhere. */
  readonly segments: StringMap | undefined;
  readonly attachments: readonly Attachment[];
  readonly stagings: readonly Staging[];
  readonly publications: readonly Publication[];
  /** Set through the control interface; replaces what the back end reports. */
  readonly health: readonly HealthEntry[] | undefined;
}

export interface SnapshotRecord extends StoredRecord {
  readonly sourceVolumeId: string;
  readonly layout: Layout;
  readonly sizeBytes: bigint;
  readonly createdAtMs: number;
  /** When post-processing ends. */
  readonly readyAtMs: number;
  readonly parameters: StringMap;
  /** That of its volume when it was taken. Absent in records of earlier versions. */
  readonly segments?: StringMap | undefined;
  readonly groupId: string | undefined;
}

export interface GroupRecord extends StoredRecord {
  readonly sourceVolumeIds: readonly string[];
  readonly snapshotIds: readonly string[];
  readonly createdAtMs: number;
  readonly parameters: StringMap;
}
