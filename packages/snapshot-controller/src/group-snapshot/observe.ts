// SPDX-License-Identifier: Apache-2.0
/** From the caches to what a run begins with. */
import { type Caches, type ObjectKey, type PersistentVolume, toObjectKey } from '@csi-sidecars/runtime';
import {
  isBoundTo,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
} from '@csi-sidecars/volume';
import { groupOwnerOf } from '../membership.ts';
import { isBeingRestored } from '../restores.ts';
import { handleKey } from '../watched.ts';
import { contentNameFor, groupKey, isStatic } from './group.ts';
import { cutSnapshots, isComplete, type Member, namesOf } from './members.ts';
import { type GroupLoop, type GroupState, nothingLearned, type Observed } from './state.ts';

type GroupCaches = Caches<GroupLoop>;

export function observe(caches: GroupCaches, key: ObjectKey): GroupState {
  const group = caches.groups.get(key);
  if (group === undefined) return { ...nothing, ...nothingLearned };
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
    ...nothingLearned,
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
  return members.map(groupKey).filter((member) => isBeingRestored(claims, member));
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
