// SPDX-License-Identifier: Apache-2.0
/** A VolumeGroupSnapshot and its content, as one kind of what can be bound. */
import type { Cache } from '@csi-sidecars/runtime';
import {
  isBoundTo,
  snapshotAnnotations,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
} from '@csi-sidecars/volume';
import type { Types, Kind, Pair } from '../binding/kind.ts';
import { groupMark } from '../content-mark.ts';
import { groupOperations } from '../operations.ts';
import { contentNameFor, expectedContentName, isStatic } from './group.ts';
import * as messages from './messages.ts';

export interface GroupTypes extends Types {
  readonly snapshot: VolumeGroupSnapshot;
  readonly content: VolumeGroupSnapshotContent;
  readonly class: VolumeGroupSnapshotClass;
  readonly caches: {
    readonly groups: Cache<VolumeGroupSnapshot>;
    readonly groupContents: Cache<VolumeGroupSnapshotContent>;
  };
}

export const groupPair: Pair<VolumeGroupSnapshot, VolumeGroupSnapshotContent> = {
  snapshots: volumeGroupSnapshots,
  contents: volumeGroupSnapshotContents,
  mark: groupMark,
  referenceOf: ({ spec }) => spec?.volumeGroupSnapshotRef,
  contentNameFor,
};

export const groupKind: Kind<GroupTypes> = {
  ...groupPair,
  classes: {
    resource: 'volumegroupsnapshotclass.groupsnapshot.storage.k8s.io',
    defaultMark: snapshotAnnotations.isDefaultGroupClass,
    noDefault: 'cannot find default group snapshot class',
  },
  operations: groupOperations,
  rows: {
    begin: 'G3',
    noClass: 'G4',
    noContentName: 'G6',
    wrongOrigin: 'G7',
    misbound: 'G8',
    prepare: 'G10',
    lostContent: 'G12',
    create: 'G11',
    noContent: 'G13',
    bind: 'G14',
    status: 'G16',
    followed: 'G16',
    misboundReady: 'G17',
    ready: 'G18',
    beginDeletion: 'X1',
    askForDeletion: 'X3',
    mark: 'X5',
    deleteContent: 'X6',
  },
  messages,
  fields: {
    bound: 'boundVolumeGroupSnapshotContentName',
    reference: 'volumeGroupSnapshotRef',
    className: 'volumeGroupSnapshotClassName',
  },
  cachesOf: ({ groups, groupContents }) => ({ snapshots: groups, contents: groupContents }),
  expectedContentName,
  classNameOf: ({ spec }) => spec?.volumeGroupSnapshotClassName,
  isStatic,
  isStaticContent: ({ spec }) => spec?.source?.groupSnapshotHandles !== undefined,
  isDynamicContent: ({ spec }) => spec?.source?.groupSnapshotHandles === undefined,
  isContentOf: (group, { spec }) => isBoundTo(spec?.volumeGroupSnapshotRef, group),
};
