// SPDX-License-Identifier: Apache-2.0
/**
 * Rows X1 to X10: a group that is being deleted. Pure; first match wins.
 *
 * As for single snapshots the content is marked before it is deleted, and the group goes last. Members are deleted with the group,
 * and wait until it is gone.
 */
import { done, finalizersWithout, isFailed, retry } from '@csi-sidecars/runtime';
import { isBoundTo, mayBindTo, snapshotFinalizers, type VolumeGroupSnapshot } from '@csi-sidecars/volume';
import type { VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import { conclude } from '../conclusions.ts';
import { isMarked, groupMark } from '../content-mark.ts';
import { isProtectedByProvisioner } from '../restores.ts';
import { contentNameFor, groupKey } from './group.ts';
import * as messages from './messages.ts';
import type { Action, GroupState } from './state.ts';

/** Both a group and its content. */
interface Pair {
  readonly group: VolumeGroupSnapshot;
  readonly content: VolumeGroupSnapshotContent;
}

export function decideDeletion(s: GroupState, group: VolumeGroupSnapshot): Action {
  if (!s.isBegun) {
    const driver = s.content?.spec?.driver ?? '';
    return { row: 'X1', kind: 'begin', operations: ['DeleteGroupSnapshot'], driver };
  }
  if (finalizersWithout(group, snapshotFinalizers.groupBound) === undefined) return conclude('X2', done);
  if (mayHaveUnseenContent(s, group)) return { row: 'X3', kind: 'askContent', name: contentNameFor(group) };
  if (isFailed(s.contentAsked)) return conclude('X3', retry(s.contentAsked.failure));
  const [restored] = s.beingRestored;
  if (restored !== undefined) {
    const event = messages.beingRestored(restored, groupKey(group));
    return conclude('X4', retry(new Error(event.message)), event);
  }
  if (isFailed(s.restoresListed)) return conclude('X10', retry(s.restoresListed.failure));
  const content = s.content !== undefined && isContentOf(group, s.content) ? s.content : undefined;
  if (mayBeRestored(s, content)) return { row: 'X10', kind: 'listRestores', group };
  const handled = content === undefined ? undefined : decideContent(s, { group, content });
  if (handled !== undefined) return handled;
  const members = s.owned.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
  if (isFailed(s.membersDeleted)) return conclude('X7', retry(s.membersDeleted.failure));
  if (members.length > 0 && s.membersDeleted === 'untried') return { row: 'X7', kind: 'deleteMembers', group, members };
  if (content?.spec?.deletionPolicy === 'Delete') return conclude('X9', done);
  if (isFailed(s.finalizersRemoved)) return conclude('X8', retry(s.finalizersRemoved.failure));
  return s.finalizersRemoved === 'done' ? conclude('X9', done) : { row: 'X8', kind: 'removeFinalizer', group };
}

/**
 * The cache may be behind: it lacks a content whose creation had no answer, or one that was written when the watch had fallen silent, or it
 * shows a static content that was bound then as not bound yet.
 */
function mayHaveUnseenContent({ content, contentAsked }: GroupState, group: VolumeGroupSnapshot): boolean {
  if (contentAsked !== 'unasked' || contentNameFor(group) === '') return false;
  const reference = content?.spec?.volumeGroupSnapshotRef;
  return content === undefined || (mayBindTo(reference, group) && !isBoundTo(reference, group));
}

/** The cache may lack a claim for which csi-provisioner protects a member. */
function mayBeRestored(
  { owned, restoresListed }: GroupState,
  content: VolumeGroupSnapshotContent | undefined,
): boolean {
  const isUnmarked = content === undefined || !isMarked(content, groupMark);
  return restoresListed === 'untried' && isUnmarked && owned.some(isProtectedByProvisioner);
}

/** A content that belongs to another group is not touched. */
export function isContentOf(group: VolumeGroupSnapshot, { spec }: VolumeGroupSnapshotContent): boolean {
  return isBoundTo(spec?.volumeGroupSnapshotRef, group);
}

/** Undefined: the content is marked, and on its way if it has to go. */
function decideContent(s: GroupState, pair: Pair): Action | undefined {
  const { content } = pair;
  if (isFailed(s.contentMarked)) return conclude('X5', retry(s.contentMarked.failure));
  if (!isMarked(content, groupMark) && s.contentMarked === 'untried')
    return { row: 'X5', kind: 'markContent', ...pair };
  if (content.spec?.deletionPolicy !== 'Delete') return undefined;
  if (isFailed(s.contentDeleted)) return conclude('X6', retry(s.contentDeleted.failure), messages.contentNotDeleted);
  const isDeleting = content.metadata?.deletionTimestamp !== undefined;
  return isDeleting || s.contentDeleted === 'done' ? undefined : { row: 'X6', kind: 'deleteContent', ...pair };
}
