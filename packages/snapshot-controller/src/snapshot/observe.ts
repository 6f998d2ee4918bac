// SPDX-License-Identifier: Apache-2.0
/** From the caches to what a run begins with. */
import { type Caches, finalizersWithout, type ObjectKey, toObjectKey } from '@csi-sidecars/runtime';
import {
  type ContentReference,
  mayBindTo,
  snapshotFinalizers,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import { managingNode } from '../managed-by.ts';
import { groupNameOf, groupOwnerOf } from '../membership.ts';
import { isBeingRestored } from '../restores.ts';
import { handleKey } from '../watched.ts';
import { contentNameFor, isDeleting, snapshotKey, sourceClaimKey } from './snapshot.ts';
import { nothingLearned, type Observed, type SnapshotContext, type SnapshotLoop, type SnapshotState } from './state.ts';

type SnapshotCaches = Caches<SnapshotLoop>;

export function observe(
  { settings, releases }: SnapshotContext,
  caches: SnapshotCaches,
  key: ObjectKey,
): SnapshotState {
  const snapshot = caches.snapshots.get(key);
  if (snapshot === undefined) return { ...nothing, ...nothingLearned };
  const ofClaim = observeClaim({ releases }, caches, snapshot);
  const volumeName = ofClaim.claim?.spec?.volumeName;
  const volume = volumeName === undefined ? undefined : caches.volumes.get(toObjectKey(undefined, volumeName));
  const content = caches.contents.get(toObjectKey(undefined, contentNameFor(snapshot)));
  const reference = contentGroup(caches, snapshot, content);
  return {
    snapshot,
    classes: caches.classes.list(),
    ...ofClaim,
    volume,
    node: content === undefined ? managingNode(volume === undefined ? [] : [volume], caches.nodes.list()) : '',
    content,
    contentGroup: reference,
    isBeingRestored: isBeingRestored(caches.claims, key),
    group: groupOf(caches, { snapshot, reference }, settings.groups),
    ...nothingLearned,
  };
}

const nothing: Observed = {
  snapshot: undefined,
  classes: [],
  claim: undefined,
  isClaimBeingReleased: false,
  isClaimInUse: false,
  volume: undefined,
  node: '',
  content: undefined,
  contentGroup: undefined,
  isBeingRestored: false,
  group: 'none',
};

/** Read again after each step: while a run waits for an answer, others take our finalizer off the claim, or begin to need it. */
export function observeClaim(
  { releases }: Pick<SnapshotContext, 'releases'>,
  caches: Pick<SnapshotCaches, 'claims' | 'snapshots'>,
  snapshot: VolumeSnapshot,
): Pick<Observed, 'claim' | 'isClaimBeingReleased' | 'isClaimInUse'> {
  const key = sourceClaimKey(snapshot);
  return key === undefined
    ? { claim: undefined, isClaimBeingReleased: false, isClaimInUse: false }
    : {
        claim: caches.claims.get(key),
        isClaimBeingReleased: releases.has(key),
        isClaimInUse: isClaimInUse({ releases, snapshots: caches.snapshots }, key, snapshot),
      };
}

/**
 * By a snapshot that has something to protect or is about to get it, and is not this one: it is not ready, and has one of our finalizers,
 * which a snapshot gets before its claim and its content. Those that failed or are being deleted count as well. When this one is being
 * deleted, only those count that will release the claim themselves.
 */
export function isClaimInUse(
  { snapshots, releases }: Pick<SnapshotCaches, 'snapshots'> & Pick<SnapshotContext, 'releases'>,
  claim: ObjectKey,
  self: VolumeSnapshot,
): boolean {
  return unreadyOthers(snapshots, claim, self).some(
    (other) => isHeld(other) && !(isDeleting(self) && releases.hasLeft(other.metadata?.uid ?? '')),
  );
}

/** Another snapshot would keep the claim if it had our finalizers, and the cache may be behind. */
export function mayBeInUse(snapshots: SnapshotCaches['snapshots'], claim: ObjectKey, self: VolumeSnapshot): boolean {
  return unreadyOthers(snapshots, claim, self).some((other) => !isHeld(other));
}

function unreadyOthers(
  snapshots: SnapshotCaches['snapshots'],
  claim: ObjectKey,
  self: VolumeSnapshot,
): readonly VolumeSnapshot[] {
  const own = snapshotKey(self);
  return snapshots
    .byIndex('claim', claim)
    .filter((other) => snapshotKey(other) !== own && other.status?.readyToUse !== true);
}

function isHeld(snapshot: VolumeSnapshot): boolean {
  const { asSource, bound, inGroup } = snapshotFinalizers;
  return finalizersWithout(snapshot, asSource, bound, inGroup) !== undefined;
}

/**
 * Several contents can have the handle: one whose group is there counts before one that was retained from a group that is gone, and one of
 * the snapshot's namespace before others.
 */
function contentGroup(
  { groupContents, groups }: SnapshotCaches,
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent | undefined,
): ContentReference | undefined {
  const handle = content?.status?.volumeGroupSnapshotHandle;
  if (handle === undefined) return undefined;
  const found = groupContents
    .byIndex('handle', handleKey(content?.spec?.driver, handle))
    .flatMap(({ spec }) => (spec?.volumeGroupSnapshotRef === undefined ? [] : [spec.volumeGroupSnapshotRef]));
  const hasGroup = (reference: ContentReference): boolean => {
    const group = groups.get(toObjectKey(reference.namespace, reference.name ?? ''));
    return group !== undefined && mayBindTo(reference, group);
  };
  const isHome = ({ namespace }: ContentReference): boolean => namespace === snapshot.metadata?.namespace;
  return (
    found.find((reference) => isHome(reference) && hasGroup(reference)) ??
    found.find(hasGroup) ??
    found.find(isHome) ??
    found[0]
  );
}

/**
 * What the status says of the group is a name alone, and another group may have it: one of this namespace while the content is a part of a
 * group elsewhere, or a later one.
 */
function groupOf(
  { groups }: SnapshotCaches,
  { snapshot, reference }: { readonly snapshot: VolumeSnapshot; readonly reference: ContentReference | undefined },
  areWatched: boolean,
): Observed['group'] {
  const name = groupNameOf(snapshot);
  if (name === '') return 'none';
  if (!areWatched) return 'unknown';
  const { namespace } = snapshot.metadata ?? {};
  const group = groups.get(toObjectKey(namespace, name)) ?? 'gone';
  if (reference === undefined || groupOwnerOf(snapshot) !== undefined) return group;
  if (reference.namespace !== namespace) return 'none';
  return group !== 'gone' && mayBindTo(reference, group) ? group : 'gone';
}
