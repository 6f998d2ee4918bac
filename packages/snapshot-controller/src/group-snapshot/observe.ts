// SPDX-License-Identifier: Apache-2.0
/** From the caches to what a run begins with. */
import {
  type Caches,
  keyOf,
  type LoopTypes,
  type Node,
  type ObjectKey,
  type PersistentVolume,
  toObjectKey,
  type PersistentVolumeClaim,
  type EventRecorder,
} from '@csi-sidecars/runtime';
import {
  isBoundTo,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import type { Binding, Kind } from '../binding/kind.ts';
import { groupOwnerOf } from '../membership.ts';
import { isBeingRestored } from '../restores.ts';
import { handleKey } from '../watched.ts';
import { contentNameFor, isStatic } from './group.ts';
import type { GroupTypes } from './kind.ts';
import { cutSnapshots, isComplete, type Member, namesOf } from './members.ts';
import type { Operations } from '../operations.ts';
import type { SnapshotControllerSettings } from '../settings.ts';

/** The same for every group of the process. */
export interface GroupContext {
  readonly kind: Kind<GroupTypes>;
  readonly settings: SnapshotControllerSettings;
  readonly events: EventRecorder;
  readonly operations: Operations;
}

/** With the indexes of `watched.ts`. */
export interface GroupWatched {
  readonly groups: VolumeGroupSnapshot;
  readonly groupContents: VolumeGroupSnapshotContent;
  readonly classes: VolumeGroupSnapshotClass;
  readonly snapshots: VolumeSnapshot;
  readonly contents: VolumeSnapshotContent;
  readonly claims: PersistentVolumeClaim;
  readonly volumes: PersistentVolume;
  readonly nodes: Node;
}

type GroupCaches = Caches<LoopTypes & { readonly watched: GroupWatched }>;

export interface Observed {
  /** Undefined: it is gone. */
  readonly group: VolumeGroupSnapshot | undefined;
  readonly classes: readonly VolumeGroupSnapshotClass[];
  /** Under the name where the group has to find it, whether or not it is bound to it. */
  readonly content: VolumeGroupSnapshotContent | undefined;
  /** With distributed snapshotting, before the group has a content: those that may be responsible for it. */
  readonly nodes: readonly Node[];
  /** Members that have to be made, or are not complete. */
  readonly incomplete: readonly Member[];
  /** Snapshots that the group owns. */
  readonly owned: readonly VolumeSnapshot[];
  /** Those of them that a pending claim is to be filled from. */
  readonly beingRestored: readonly ObjectKey[];
}

/** A run about a group that is there. */
export type Present = Omit<Observed, 'group'> & Binding<GroupTypes>;

export function observe(caches: GroupCaches, key: ObjectKey): Observed {
  const group = caches.groups.get(key);
  if (group === undefined) return nothing;
  const content = caches.groupContents.get(toObjectKey(undefined, contentNameFor(group)));
  const owned = caches.snapshots
    .byIndex('member', key)
    .filter((snapshot) => groupOwnerOf(snapshot)?.uid === group.metadata?.uid);
  return {
    group,
    classes: caches.classes.list(),
    content,
    nodes: content === undefined ? caches.nodes.list() : [],
    incomplete: incompleteMembers(caches, group, content),
    owned,
    beingRestored: membersBeingRestored(caches, owned),
  };
}

const nothing: Observed = {
  group: undefined,
  classes: [],
  content: undefined,
  nodes: [],
  incomplete: [],
  owned: [],
  beingRestored: [],
};

export function membersBeingRestored(
  { claims }: Pick<GroupCaches, 'claims'>,
  members: readonly VolumeSnapshot[],
): readonly ObjectKey[] {
  return members.map((member) => keyOf(member)).filter((member) => isBeingRestored(claims, member));
}

function incompleteMembers(
  { snapshots, contents, volumes }: GroupCaches,
  group: VolumeGroupSnapshot,
  groupContent: VolumeGroupSnapshotContent | undefined,
): readonly Member[] {
  if (groupContent === undefined || isStatic(group)) return [];
  if (!isBoundTo(groupContent.spec?.volumeGroupSnapshotRef, group)) return [];
  const { driver, volumeGroupSnapshotRef } = groupContent.spec ?? {};
  const volumeWith = (handle: string): PersistentVolume | undefined => {
    const found = volumes.byIndex('handle', handleKey(driver, handle));
    return found.length === 1 ? found[0] : undefined;
  };
  return (cutSnapshots(groupContent) ?? [])
    .map((info): Member => {
      const names = namesOf({ group, info });
      return {
        group,
        groupContent,
        info,
        volume: volumeWith(info.volumeHandle ?? ''),
        snapshot: snapshots.get(toObjectKey(volumeGroupSnapshotRef?.namespace, names.snapshot)),
        content: contents.get(toObjectKey(undefined, names.content)),
      };
    })
    .filter((member) => !isComplete(member));
}
