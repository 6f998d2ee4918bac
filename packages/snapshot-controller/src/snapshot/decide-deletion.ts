// SPDX-License-Identifier: Apache-2.0
/**
 * Rows D1 to D11: a snapshot that is being deleted. Pure; first match wins.
 *
 * The order is what protects the data: the content is marked before it is deleted, since csi-snapshotter deletes nothing that is not
 * marked; it is deleted before the snapshot may go; the claim is released before, since nothing would look at it afterwards.
 */
import { done, finalizersWithout, isFailed, retry } from '@csi-sidecars/runtime';
import {
  isBoundTo,
  mayBindTo,
  snapshotFinalizers,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import { conclude } from '../conclusions.ts';
import { isMarked, singleMark } from '../content-mark.ts';
import { groupNameOf, groupOwnerOf } from '../membership.ts';
import { isProtectedByProvisioner } from '../restores.ts';
import { driverOf } from './default-class.ts';
import * as messages from './messages.ts';
import { contentNameFor, isDeleting, isProtected, originOf, snapshotKey, sourceClaimKey } from './snapshot.ts';
import type { Action, SnapshotState } from './state.ts';

/** Both a snapshot and its content. */
interface Pair {
  readonly snapshot: VolumeSnapshot;
  readonly content: VolumeSnapshotContent;
}

export function decideDeletion(s: SnapshotState, snapshot: VolumeSnapshot): Action {
  const { asSource, bound, inGroup } = snapshotFinalizers;
  if (!s.isBegun) {
    return { row: 'D1', kind: 'begin', operations: ['DeleteSnapshot'], driver: driverOf(s, snapshot) };
  }
  if (finalizersWithout(snapshot, asSource, bound, inGroup) === undefined) return conclude('D2', done);
  if (mayHaveUnseenContent(s, snapshot)) return { row: 'D3', kind: 'askContent', name: contentNameFor(snapshot) };
  if (isFailed(s.contentAsked)) return conclude('D3', retry(s.contentAsked.failure));
  const content = s.content !== undefined && isContentOf(snapshot, s.content) ? s.content : undefined;
  if (content !== undefined && s.isBeingRestored) {
    return conclude('D4', retry(new Error(messages.beingRestored.message)), messages.beingRestored);
  }
  if (isFailed(s.restoresListed)) return conclude('D11', retry(s.restoresListed.failure));
  if (content !== undefined && mayBeRestored(s, { snapshot, content })) {
    return { row: 'D11', kind: 'listRestores', snapshot };
  }
  const kept = decideGroup(s, snapshot);
  if (kept !== undefined) return kept;
  const deletesContent = content?.spec?.deletionPolicy === 'Delete';
  const handled = content === undefined ? undefined : decideContent(s, { snapshot, content });
  if (handled !== undefined) return handled;
  const claimed = decideClaim(s, snapshot);
  if (claimed !== undefined) return claimed;
  if (isFailed(s.finalizersRemoved)) return conclude('D9', retry(s.finalizersRemoved.failure));
  const finalizers = [asSource, inGroup, ...(deletesContent ? [] : [bound])];
  if (s.finalizersRemoved === 'done' || finalizersWithout(snapshot, ...finalizers) === undefined) {
    return conclude('D10', done);
  }
  return { row: 'D9', kind: 'removeFinalizers', snapshot, finalizers };
}

/**
 * The cache may be behind: it lacks a content whose creation had no answer, or one that was written when the watch had fallen silent. A run
 * that removed `as-source` has seen what there is.
 */
function mayHaveUnseenContent({ content, contentAsked }: SnapshotState, snapshot: VolumeSnapshot): boolean {
  if (contentAsked !== 'unasked' || contentNameFor(snapshot) === '') return false;
  if (content !== undefined) return !hasPassed(snapshot) && isBindingUnseen(content, snapshot);
  const isBound = snapshot.status?.boundVolumeSnapshotContentName !== undefined;
  return !hasPassed(snapshot) || (!isBound && originOf(snapshot) === 'dynamic');
}

/** A run has removed its finalizers: it may go, and at most waits for its content. */
function hasPassed(snapshot: VolumeSnapshot): boolean {
  const { asSource, inGroup } = snapshotFinalizers;
  return finalizersWithout(snapshot, asSource, inGroup) === undefined;
}

/** The content of a static snapshot is shown as not bound yet. */
function isBindingUnseen({ spec }: VolumeSnapshotContent, snapshot: VolumeSnapshot): boolean {
  const reference = spec?.volumeSnapshotRef;
  return originOf(snapshot) === 'static' && mayBindTo(reference, snapshot) && !isBoundTo(reference, snapshot);
}

/** A content that belongs to another snapshot is not touched. */
export function isContentOf(snapshot: VolumeSnapshot, { spec }: VolumeSnapshotContent): boolean {
  const reference = spec?.volumeSnapshotRef;
  // An older release made contents of members before their snapshots, and may have ended in between.
  return isBoundTo(reference, snapshot) || (originOf(snapshot) === 'member' && mayBindTo(reference, snapshot));
}

/** The cache may lack the claim for which csi-provisioner protects the snapshot. */
function mayBeRestored({ restoresListed }: SnapshotState, { snapshot, content }: Pair): boolean {
  return restoresListed === 'untried' && !isMarked(content, singleMark) && isProtectedByProvisioner(snapshot);
}

/** Undefined: no group keeps the snapshot. A group of the same name as the owner, but another UID, is another group. */
function decideGroup({ group, groupAsked }: SnapshotState, snapshot: VolumeSnapshot): Action | undefined {
  if (group === 'none' || group === 'gone' || hasPassed(snapshot)) return undefined;
  const { namespace = '' } = snapshot.metadata ?? {};
  const name = groupNameOf(snapshot);
  if (group === 'unknown') {
    if (groupAsked === 'unasked') return { row: 'D5', kind: 'askGroup', namespace, name };
    if (isFailed(groupAsked)) {
      const { failure } = groupAsked;
      return conclude('D5', retry(failure), messages.groupUnknown(`${namespace}/${name}`, failure.message));
    }
    if (!groupAsked.value) return undefined;
  } else {
    const owner = groupOwnerOf(snapshot);
    if (owner !== undefined && owner.uid !== group.metadata?.uid) return undefined;
  }
  const event = messages.inGroup(snapshotKey(snapshot), `${namespace}/${name}`);
  return conclude('D5', retry(new Error(event.message)), event);
}

/** Undefined: the content is marked, and on its way if it has to go. */
function decideContent(s: SnapshotState, pair: Pair): Action | undefined {
  const { content } = pair;
  if (isFailed(s.contentMarked)) return conclude('D6', retry(s.contentMarked.failure));
  if (!isMarked(content, singleMark) && s.contentMarked === 'untried')
    return { row: 'D6', kind: 'markContent', ...pair };
  if (content.spec?.deletionPolicy !== 'Delete') return undefined;
  if (isFailed(s.contentDeleted)) {
    return conclude('D7', retry(s.contentDeleted.failure), messages.contentNotDeleted);
  }
  if (!isDeleting(content) && s.contentDeleted === 'untried') return { row: 'D7', kind: 'deleteContent', ...pair };
  return undefined;
}

/** Undefined: the claim is released, or another snapshot will release it. */
function decideClaim(s: SnapshotState, snapshot: VolumeSnapshot): Action | undefined {
  const { claim, claimReleased } = s;
  if (isFailed(claimReleased)) {
    return conclude('D8', retry(claimReleased.failure), messages.claimNotReleased);
  }
  // Also while the claim is not protected: another snapshot may protect it before this one is gone.
  if (sourceClaimKey(snapshot) !== undefined && !s.hasLeftClaim) return { row: 'D8', kind: 'leaveClaim', snapshot };
  if (claim === undefined || !isProtected(claim) || s.isClaimInUse || claimReleased === 'done') return undefined;
  return { row: 'D8', kind: 'releaseClaim', claim, snapshot };
}
