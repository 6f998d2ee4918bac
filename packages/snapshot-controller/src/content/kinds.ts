// SPDX-License-Identifier: Apache-2.0
/** In what the loops of contents and of group contents differ. Pure. */
import type { RecordedEvent } from '@csi-sidecars/runtime';
import type {
  VolumeGroupSnapshot,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import type { AnyContent, AnySnapshot, Pair } from '../binding/kind.ts';
import { groupPair } from '../group-snapshot/kind.ts';
import { snapshotPair } from '../snapshot/kind.ts';

/** `C`: the contents. `S`: the snapshots or groups that they belong to. */
export interface ContentKind<C extends AnyContent, S extends AnySnapshot> extends Pair<S, C> {
  /** The name of the queue in metrics and log lines. */
  readonly queueName: string;
  readonly rows: Rows;
  readonly isValid: (content: C) => boolean;
  readonly invalid: RecordedEvent;
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

export const singleContentKind: ContentKind<VolumeSnapshotContent, VolumeSnapshot> = {
  ...snapshotPair,
  queueName: 'snapshot-controller-content',
  rows: { gone: 'C1', invalid: 'C2', unbound: 'C3', settled: 'C4', unprotected: 'C5' },
  isValid: ({ spec: { source } = {} }) =>
    (source?.volumeHandle === undefined) !== (source?.snapshotHandle === undefined),
  invalid: warning('ContentValidationError', 'Exactly one of VolumeHandle and SnapshotHandle should be specified'),
  isKept: ({ spec, status }) => spec?.deletionPolicy !== 'Delete' || (status?.volumeGroupSnapshotHandle ?? '') !== '',
};

export const groupContentKind: ContentKind<VolumeGroupSnapshotContent, VolumeGroupSnapshot> = {
  ...groupPair,
  queueName: 'snapshot-controller-group-content',
  rows: { gone: 'K1', invalid: 'K2', unbound: 'K3', settled: 'K4', unprotected: 'K5' },
  isValid: ({ spec: { source } = {} }) =>
    ((source?.volumeHandles ?? []).length === 0) !== (source?.groupSnapshotHandles === undefined),
  invalid: warning(
    'GroupContentValidationError',
    'Exactly one of GroupSnapshotHandles and VolumeHandles should be specified',
  ),
  isKept: ({ spec }) => spec?.deletionPolicy !== 'Delete',
};

function warning(reason: string, message: string): RecordedEvent {
  return { type: 'Warning', reason, message };
}
