// SPDX-License-Identifier: Apache-2.0
/** A VolumeSnapshot and its content, as one kind of what can be bound. */
import type { Cache } from '@csi-sidecars/runtime';
import {
  isBoundTo,
  mayBindTo,
  snapshotAnnotations,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import type { Types, Kind, Pair } from '../binding/kind.ts';
import { singleMark } from '../content-mark.ts';
import { singleOperations } from '../operations.ts';
import * as messages from './messages.ts';
import { contentNameFor, expectedContentName, originOf } from './snapshot.ts';

export interface SnapshotTypes extends Types {
  readonly snapshot: VolumeSnapshot;
  readonly content: VolumeSnapshotContent;
  readonly class: VolumeSnapshotClass;
  readonly caches: { readonly snapshots: Cache<VolumeSnapshot>; readonly contents: Cache<VolumeSnapshotContent> };
}

export const snapshotPair: Pair<VolumeSnapshot, VolumeSnapshotContent> = {
  snapshots: volumeSnapshots,
  contents: volumeSnapshotContents,
  mark: singleMark,
  referenceOf: ({ spec }) => spec?.volumeSnapshotRef,
  contentNameFor,
};

export const snapshotKind: Kind<SnapshotTypes> = {
  ...snapshotPair,
  classes: {
    resource: 'volumesnapshotclass.snapshot.storage.k8s.io',
    defaultMark: snapshotAnnotations.isDefaultClass,
    noDefault: 'cannot find default snapshot class',
  },
  operations: singleOperations,
  rows: {
    begin: 'S3',
    noClass: 'S4',
    noContentName: 'S6',
    wrongOrigin: 'S7',
    misbound: 'S8',
    prepare: 'S10',
    lostContent: 'S11',
    create: 'S12',
    noContent: 'S14',
    bind: 'S15',
    status: 'S16',
    followed: 'S17',
    misboundReady: 'S19',
    ready: 'S21',
    beginDeletion: 'D1',
    askForDeletion: 'D3',
    mark: 'D6',
    deleteContent: 'D7',
  },
  messages,
  fields: {
    bound: 'boundVolumeSnapshotContentName',
    reference: 'volumeSnapshotRef',
    className: 'volumeSnapshotClassName',
  },
  cachesOf: ({ snapshots, contents }) => ({ snapshots, contents }),
  expectedContentName,
  classNameOf: ({ spec }) => spec?.volumeSnapshotClassName,
  isStatic: (snapshot) => originOf(snapshot) === 'static',
  isStaticContent: ({ spec }) => spec?.source?.snapshotHandle !== undefined,
  isDynamicContent: ({ spec }) => spec?.source?.volumeHandle !== undefined,
  isContentOf: (snapshot, { spec }) => {
    const reference = spec?.volumeSnapshotRef;
    // An older release made contents of members before their snapshots, and may have ended in between.
    return isBoundTo(reference, snapshot) || (originOf(snapshot) === 'member' && mayBindTo(reference, snapshot));
  },
};
