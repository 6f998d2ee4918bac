// SPDX-License-Identifier: Apache-2.0
/**
 * A group that is being deleted, from top to bottom: rows X1 to X10. Pure.
 *
 * As for single snapshots the content is marked before it is deleted, and the group goes last. Members are deleted with the group,
 * and wait until it is gone.
 */
import { done, ending, finalizersWithout, type Flow, keyOf, orEnd, perform, retry } from '@csi-sidecars/runtime';
import { isBoundTo, mayBindTo, snapshotFinalizers, type VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import * as binding from '../binding/flow.ts';
import { removeFinalizers } from '../binding/steps.ts';
import { conclude, type Conclusion } from '../conclusions.ts';
import { groupMark, isMarked } from '../content-mark.ts';
import { isProtectedByProvisioner } from '../restores.ts';
import { contentNameFor } from './group.ts';
import type { GroupTypes } from './kind.ts';
import * as messages from './messages.ts';
import type { Present } from './observe.ts';
import * as step from './steps.ts';

export function* remove(run: Present): Flow<Conclusion> {
  const { snapshot: group } = run;
  const { groupBound } = snapshotFinalizers;
  yield* binding.beginDeletion(run);
  if (finalizersWithout(group, groupBound) === undefined) return conclude('X2', done);
  const found = yield* binding.contentToDelete(run, mayHaveUnseenContent(run));
  yield* waitForRestores(run, found);
  const content = found && (yield* binding.removeContent(run, found));
  const members = run.owned.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
  if (members.length > 0) {
    yield* orEnd(perform('X7', step.deleteMembers, group, members), (failure) => conclude('X7', retry(failure)));
  }
  if (content?.spec?.deletionPolicy === 'Delete') return conclude('X9', done);
  yield* orEnd(perform('X8', removeFinalizers<GroupTypes>, group, [groupBound]), (failure) =>
    conclude('X8', retry(failure)),
  );
  return conclude('X9', done);
}

/**
 * The cache may be behind: it lacks a content whose creation had no answer, or one that was written when the watch had fallen silent, or it
 * shows a static content that was bound then as not bound yet.
 */
function mayHaveUnseenContent({ content, snapshot: group }: Present): boolean {
  if (contentNameFor(group) === '') return false;
  const reference = content?.spec?.volumeGroupSnapshotRef;
  return content === undefined || (mayBindTo(reference, group) && !isBoundTo(reference, group));
}

/** The cache may lack a claim for which csi-provisioner protects a member. */
function* waitForRestores(
  { snapshot: group, owned, beingRestored }: Present,
  content: VolumeGroupSnapshotContent | undefined,
): Flow<void> {
  const isUnmarked = content === undefined || !isMarked(content, groupMark);
  const mayLack = beingRestored.length === 0 && isUnmarked && owned.some(isProtectedByProvisioner);
  const [restored] = mayLack
    ? yield* orEnd(perform('X10', step.listRestores, group, owned), (failure) => conclude('X10', retry(failure)))
    : beingRestored;
  if (restored === undefined) return;
  const event = messages.beingRestored(restored, keyOf(group));
  throw ending(conclude('X4', retry(new Error(event.message)), event));
}
