// SPDX-License-Identifier: Apache-2.0
/**
 * A group that is being deleted, from top to bottom: rows X1 to X10. Pure.
 *
 * As for single snapshots the content is marked before it is deleted, and the group goes last. Members are deleted with the group,
 * and wait until it is gone.
 */
import { done, ending, finalizersWithout, type Flow, orEnd, perform, retry } from '@csi-sidecars/runtime';
import {
  isBoundTo,
  mayBindTo,
  snapshotFinalizers,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
} from '@csi-sidecars/volume';
import { conclude, type Conclusion } from '../conclusions.ts';
import { groupMark, isMarked } from '../content-mark.ts';
import { isProtectedByProvisioner } from '../restores.ts';
import type { Present } from './observe.ts';
import { contentNameFor, groupKey } from './group.ts';
import * as messages from './messages.ts';
import * as step from './steps.ts';

export function* remove(run: Present): Flow<Conclusion> {
  const { group } = run;
  const driver = run.content?.spec?.driver ?? '';
  yield* perform('X1', step.begin, group, { operations: ['DeleteGroupSnapshot'], driver });
  if (finalizersWithout(group, snapshotFinalizers.groupBound) === undefined) return conclude('X2', done);
  const known = mayHaveUnseenContent(run)
    ? yield* orEnd(perform('X3', step.askContent, contentNameFor(group)), (failure) => conclude('X3', retry(failure)))
    : run.content;
  const found = known !== undefined && step.isContentOf(group, known) ? known : undefined;
  yield* waitForRestores(run, found);
  const content = found && (yield* removeContent(group, found));
  const members = run.owned.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
  if (members.length > 0) {
    yield* orEnd(perform('X7', step.deleteMembers, group, members), (failure) => conclude('X7', retry(failure)));
  }
  if (content?.spec?.deletionPolicy === 'Delete') return conclude('X9', done);
  yield* orEnd(perform('X8', step.removeFinalizer, group), (failure) => conclude('X8', retry(failure)));
  return conclude('X9', done);
}

/**
 * The cache may be behind: it lacks a content whose creation had no answer, or one that was written when the watch had fallen silent, or it
 * shows a static content that was bound then as not bound yet.
 */
function mayHaveUnseenContent({ content, group }: Present): boolean {
  if (contentNameFor(group) === '') return false;
  const reference = content?.spec?.volumeGroupSnapshotRef;
  return content === undefined || (mayBindTo(reference, group) && !isBoundTo(reference, group));
}

/** The cache may lack a claim for which csi-provisioner protects a member. */
function* waitForRestores(
  { group, owned, beingRestored }: Present,
  content: VolumeGroupSnapshotContent | undefined,
): Flow<void> {
  const isUnmarked = content === undefined || !isMarked(content, groupMark);
  const mayLack = beingRestored.length === 0 && isUnmarked && owned.some(isProtectedByProvisioner);
  const [restored] = mayLack
    ? yield* orEnd(perform('X10', step.listRestores, group, owned), (failure) => conclude('X10', retry(failure)))
    : beingRestored;
  if (restored === undefined) return;
  const event = messages.beingRestored(restored, groupKey(group));
  throw ending(conclude('X4', retry(new Error(event.message)), event));
}

/** The content is marked, and on its way if it has to go. Undefined: it belongs to another group by now. */
function* removeContent(
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
): Flow<VolumeGroupSnapshotContent | undefined> {
  const marked = isMarked(content, groupMark)
    ? content
    : yield* orEnd(perform('X5', step.markContent, group, content), (failure) => conclude('X5', retry(failure)));
  if (!step.isContentOf(group, marked)) return undefined;
  if (marked.spec?.deletionPolicy !== 'Delete' || marked.metadata?.deletionTimestamp !== undefined) return marked;
  const deleted = yield* orEnd(perform('X6', step.deleteContent, group, marked), (failure) =>
    conclude('X6', retry(failure), messages.contentNotDeleted),
  );
  return step.isContentOf(group, deleted ?? marked) ? (deleted ?? marked) : undefined;
}
