// SPDX-License-Identifier: Apache-2.0
/** From the caches to what a run begins with. */
import {
  type Caches,
  finalizersWithout,
  type KeyedLock,
  keyOf,
  type LoopTypes,
  type ObjectKey,
  type PersistentVolume,
  type PersistentVolumeClaim,
  toObjectKey,
  type Node,
  type EventRecorder,
} from '@csi-sidecars/runtime';
import {
  type ContentReference,
  mayBindTo,
  snapshotFinalizers,
  type VolumeGroupSnapshot,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  type VolumeGroupSnapshotContent,
} from '@csi-sidecars/volume';
import type { Binding, Kind } from '../binding/kind.ts';
import { managingNode } from '../managed-by.ts';
import { groupNameOf, groupOwnerOf } from '../membership.ts';
import { isBeingRestored } from '../restores.ts';
import { handleKey } from '../watched.ts';
import { contentNameFor, isDeleting, sourceClaimKey } from './snapshot.ts';
import type { SnapshotTypes } from './kind.ts';
import type { ClaimReleases } from './claim-releases.ts';
import type { Operations } from '../operations.ts';
import type { SnapshotControllerSettings } from '../settings.ts';

/** The same for every snapshot of the process. */
export interface SnapshotContext {
  readonly kind: Kind<SnapshotTypes>;
  readonly settings: SnapshotControllerSettings;
  readonly events: EventRecorder;
  readonly operations: Operations;
  readonly releases: ClaimReleases;
  /** UIDs of snapshots that are being deleted and came to the wait for the end of their content in this process, until they are gone. */
  readonly waiting: Set<string>;
  /** By the UIDs of snapshots whose contents this process made: until when, by the monotonic clock, their first status waits for the driver. */
  readonly answersDueMs: Map<string, number>;
  /** Snapshots of a claim that come together all want its finalizer: the first one writes it, and the others find it in the cache. */
  readonly claimLock: KeyedLock<ObjectKey>;
}

/** With the indexes of `watched.ts`. */
export interface SnapshotWatched {
  readonly snapshots: VolumeSnapshot;
  readonly contents: VolumeSnapshotContent;
  readonly classes: VolumeSnapshotClass;
  readonly claims: PersistentVolumeClaim;
  readonly volumes: PersistentVolume;
  readonly nodes: Node;
  readonly groups: VolumeGroupSnapshot;
  readonly groupContents: VolumeGroupSnapshotContent;
}

type SnapshotCaches = Caches<LoopTypes & { readonly watched: SnapshotWatched }>;

export interface LookedAtClaim {
  /** The claim of which the snapshot is taken. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** Another run takes our finalizer off the claim at this moment. */
  readonly isClaimBeingReleased: boolean;
  /** Another snapshot of the claim is not ready, and keeps it. */
  readonly isClaimInUse: boolean;
}

export interface Observed extends LookedAtClaim {
  /** Undefined: it is gone. */
  readonly snapshot: VolumeSnapshot | undefined;
  readonly classes: readonly VolumeSnapshotClass[];
  readonly volume: PersistentVolume | undefined;
  /** With distributed snapshotting: the node that can reach the volume. Empty: none, or any. */
  readonly node: string;
  /** Under the name where the snapshot has to find it, whether or not it is bound to it. */
  readonly content: VolumeSnapshotContent | undefined;
  /** To the group that the content is a part of, which may be in another namespace. Undefined: no group, or it was not found. */
  readonly contentGroup: ContentReference | undefined;
  /** A pending claim is to be filled from the snapshot. */
  readonly isBeingRestored: boolean;
  /** The group that the snapshot belongs to. `gone` also if another group has its name; `unknown`: groups are not watched. */
  readonly group: VolumeGroupSnapshot | 'none' | 'gone' | 'unknown';
  /** It is being deleted, and this process waited for the end of its content. */
  readonly isWaiting: boolean;
}

export type FlowSettings = Pick<SnapshotControllerSettings, 'recordVolumeMode' | 'groups' | 'distributed'>;

/** A run about a snapshot that is there. */
export type Present = Omit<Observed, 'snapshot'> & Binding<SnapshotTypes> & { readonly settings: FlowSettings };

export function observe(
  { settings, releases, waiting }: Pick<SnapshotContext, 'settings' | 'releases' | 'waiting'>,
  caches: SnapshotCaches,
  key: ObjectKey,
): Observed {
  const snapshot = caches.snapshots.get(key);
  if (snapshot === undefined) return nothing;
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
    isWaiting: waiting.has(snapshot.metadata?.uid ?? ''),
  };
}

/** Of a snapshot that is gone. */
export const nothing: Observed = {
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
  isWaiting: false,
};

/** Read again after each step: while a run waits for an answer, others take our finalizer off the claim, or begin to need it. */
export function observeClaim(
  { releases }: Pick<SnapshotContext, 'releases'>,
  caches: Pick<SnapshotCaches, 'claims' | 'snapshots'>,
  snapshot: VolumeSnapshot,
): LookedAtClaim {
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
  const own = keyOf(self);
  return snapshots.byIndex('claim', claim).filter((other) => keyOf(other) !== own && other.status?.readyToUse !== true);
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
