// SPDX-License-Identifier: Apache-2.0
/** In what the loops of contents and of group contents differ. Pure. */
import type { KubeObject, RecordedEvent, Resource } from '@csi-sidecars/runtime';
import {
  type ContentReference,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { type ContentMark, groupMark, singleMark } from '../content-mark.ts';
import { contentNameFor as groupContentNameFor } from '../group-snapshot/group.ts';
import { contentNameFor } from '../snapshot/snapshot.ts';

export type AnyContent = VolumeSnapshotContent | VolumeGroupSnapshotContent;

/** `C`: the contents. `O`: the snapshots or groups that they belong to. */
export interface ContentKind<C extends AnyContent, O extends KubeObject> {
  /** The name of the queue in metrics and log lines. */
  readonly queueName: string;
  readonly resource: Resource<C>;
  readonly owners: Resource<O>;
  readonly mark: ContentMark;
  readonly rows: Rows;
  readonly isValid: (content: C) => boolean;
  readonly invalid: RecordedEvent;
  readonly referenceOf: (content: C) => ContentReference | undefined;
  readonly contentNameFor: (owner: O) => string;
  /** csi-snapshotter lets the content go and deletes nothing in the storage. */
  readonly isKept: (content: C) => boolean;
}

/** The rows of which each kind has its own. */
export interface Rows {
  readonly gone: string;
  readonly invalid: string;
  readonly unbound: string;
  readonly settled: string;
  readonly unprotected: string;
}

export const singleKind: ContentKind<VolumeSnapshotContent, VolumeSnapshot> = {
  queueName: 'snapshot-controller-content',
  resource: volumeSnapshotContents,
  owners: volumeSnapshots,
  mark: singleMark,
  rows: { gone: 'C1', invalid: 'C2', unbound: 'C3', settled: 'C4', unprotected: 'C5' },
  isValid: ({ spec: { source } = {} }) =>
    (source?.volumeHandle === undefined) !== (source?.snapshotHandle === undefined),
  invalid: warning('ContentValidationError', 'Exactly one of VolumeHandle and SnapshotHandle should be specified'),
  referenceOf: ({ spec }) => spec?.volumeSnapshotRef,
  contentNameFor,
  isKept: ({ spec, status }) => spec?.deletionPolicy !== 'Delete' || (status?.volumeGroupSnapshotHandle ?? '') !== '',
};

export const groupKind: ContentKind<VolumeGroupSnapshotContent, VolumeGroupSnapshot> = {
  queueName: 'snapshot-controller-group-content',
  resource: volumeGroupSnapshotContents,
  owners: volumeGroupSnapshots,
  mark: groupMark,
  rows: { gone: 'K1', invalid: 'K2', unbound: 'K3', settled: 'K4', unprotected: 'K5' },
  isValid: ({ spec: { source } = {} }) =>
    ((source?.volumeHandles ?? []).length === 0) !== (source?.groupSnapshotHandles === undefined),
  invalid: warning(
    'GroupContentValidationError',
    'Exactly one of GroupSnapshotHandles and VolumeHandles should be specified',
  ),
  referenceOf: ({ spec }) => spec?.volumeGroupSnapshotRef,
  contentNameFor: groupContentNameFor,
  isKept: ({ spec }) => spec?.deletionPolicy !== 'Delete',
};

function warning(reason: string, message: string): RecordedEvent {
  return { type: 'Warning', reason, message };
}
