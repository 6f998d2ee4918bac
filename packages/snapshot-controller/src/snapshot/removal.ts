// SPDX-License-Identifier: Apache-2.0
/**
 * A snapshot that is being deleted, from top to bottom: rows D1 to D11. Pure.
 *
 * The order is what protects the data: the content is marked before it is deleted, since csi-snapshotter deletes nothing that is not
 * marked; it is deleted before the snapshot may go; the claim is released before, since nothing would look at it afterwards.
 */
import { done, ending, finalizersWithout, type Flow, keyOf, orEnd, perform, retry } from '@csi-sidecars/runtime';
import {
  isBoundTo,
  mayBindTo,
  snapshotFinalizers,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import * as binding from '../binding/flow.ts';
import { removeFinalizers } from '../binding/steps.ts';
import { conclude, type Conclusion } from '../conclusions.ts';
import { isMarked, singleMark } from '../content-mark.ts';
import { groupNameOf, groupOwnerOf } from '../membership.ts';
import { isProtectedByProvisioner } from '../restores.ts';
import type { SnapshotTypes } from './kind.ts';
import type { Present } from './observe.ts';
import * as messages from './messages.ts';
import { contentNameFor, isProtected, originOf, sourceClaimKey } from './snapshot.ts';
import * as step from './steps.ts';

export function* remove(run: Present): Flow<Conclusion> {
  const { snapshot } = run;
  const { asSource, bound, inGroup } = snapshotFinalizers;
  yield* binding.beginDeletion(run);
  if (finalizersWithout(snapshot, asSource, bound, inGroup) === undefined) return conclude('D2', done);
  const found = yield* binding.contentToDelete(run, mayHaveUnseenContent(run));
  if (found !== undefined) yield* waitForRestores(run, found);
  yield* waitForGroup(run, found);
  const content = found && (yield* binding.removeContent(run, found));
  const deletesContent = content?.spec?.deletionPolicy === 'Delete';
  yield* releaseClaim(snapshot);
  if (deletesContent && outlivesContent(snapshot)) {
    yield* perform('D10', step.noteWaiting, snapshot);
    return conclude('D10', done);
  }
  // One that another process added, and that the cache lacks, waits as well.
  const finalizers = [asSource, inGroup, ...(deletesContent ? [] : [bound])];
  yield* orEnd(perform('D9', removeFinalizers<SnapshotTypes>, snapshot, finalizers), (failure) =>
    conclude('D9', retry(failure)),
  );
  return conclude('D10', done);
}

/** It stays until its content is gone. A member that its group made does not. */
function outlivesContent({ metadata }: VolumeSnapshot): boolean {
  return metadata?.finalizers?.includes(snapshotFinalizers.bound) === true;
}

/**
 * The cache may be behind: it lacks a content whose creation had no answer, or one that was written when the watch had fallen silent. A run
 * that waited for the content has seen what there is.
 */
function mayHaveUnseenContent(run: Present): boolean {
  const { content, snapshot, isWaiting } = run;
  if (contentNameFor(snapshot) === '') return false;
  if (content !== undefined) return !hasPassed(run) && isBindingUnseen(content, snapshot);
  return !hasPassed(run) || (!isWaiting && !isBound(snapshot) && originOf(snapshot) === 'dynamic');
}

/** A run came to the end before, here or, with upstream or an earlier release, elsewhere: the snapshot at most waits for its content. */
function hasPassed({ snapshot, isWaiting }: Present): boolean {
  const { asSource, inGroup } = snapshotFinalizers;
  return isWaiting || finalizersWithout(snapshot, asSource, inGroup) === undefined;
}

function isBound({ status }: VolumeSnapshot): boolean {
  return status?.boundVolumeSnapshotContentName !== undefined;
}

/** The content of a static snapshot is shown as not bound yet. */
function isBindingUnseen({ spec }: VolumeSnapshotContent, snapshot: VolumeSnapshot): boolean {
  const reference = spec?.volumeSnapshotRef;
  return originOf(snapshot) === 'static' && mayBindTo(reference, snapshot) && !isBoundTo(reference, snapshot);
}

/** The cache may lack the claim for which csi-provisioner protects the snapshot. */
function* waitForRestores({ snapshot, isBeingRestored }: Present, content: VolumeSnapshotContent): Flow<void> {
  const mayBeRestored = !isMarked(content, singleMark) && isProtectedByProvisioner(snapshot);
  const isPending =
    isBeingRestored ||
    (mayBeRestored &&
      (yield* orEnd(perform('D11', step.listRestores, snapshot), (failure) => conclude('D11', retry(failure)))));
  if (!isPending) return;
  throw ending(conclude('D4', retry(new Error(messages.beingRestored.message)), messages.beingRestored));
}

/**
 * A group of the same name as the owner, but another UID, is another group. One that came after the end of the content, for which an earlier
 * process waited, keeps nothing.
 */
function* waitForGroup(run: Present, content: VolumeSnapshotContent | undefined): Flow<void> {
  const { snapshot, group } = run;
  if (group === 'none' || group === 'gone' || hasPassed(run)) return;
  if (content === undefined && isBound(snapshot) && outlivesContent(snapshot)) return;
  const { namespace = '' } = snapshot.metadata ?? {};
  const name = groupNameOf(snapshot);
  const key = `${namespace}/${name}`;
  const isThere =
    group === 'unknown'
      ? yield* orEnd(perform('D5', step.askGroup, { namespace, name }), (failure) =>
          conclude('D5', retry(failure), messages.groupUnknown(key, failure.message)),
        )
      : [undefined, group.metadata?.uid].includes(groupOwnerOf(snapshot)?.uid);
  if (!isThere) return;
  const event = messages.inGroup(keyOf(snapshot), key);
  throw ending(conclude('D5', retry(new Error(event.message)), event));
}

function* releaseClaim(snapshot: VolumeSnapshot): Flow<void> {
  if (sourceClaimKey(snapshot) === undefined) return;
  // Also while the claim is not protected: another snapshot may protect it before this one is gone.
  yield* perform('D8', step.leaveClaim, snapshot);
  const { claim, isClaimInUse } = yield* perform('D8', step.lookAtClaim, snapshot);
  if (claim === undefined || !isProtected(claim) || isClaimInUse) return;
  yield* orEnd(perform('D8', step.releaseClaim, snapshot, claim), (failure) =>
    conclude('D8', retry(failure), messages.claimNotReleased),
  );
}
