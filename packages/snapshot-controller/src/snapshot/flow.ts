// SPDX-License-Identifier: Apache-2.0
/**
 * The VolumeSnapshot, from top to bottom: it is bound to its content, which is made if the snapshot is dynamic; its status follows that of
 * the content; its claim is protected while it is cut, and released when it is ready. Rows S1 to S21 of the page; those of a deletion are in
 * `removal.ts`, and what a group does as well is in `binding/`. Pure; what each step does is in `steps.ts`.
 *
 * Not here: finalizers of contents that others made (`content/`), members and deletion of groups (`group-snapshot/`), claims that are left
 * without a snapshot (`claim.ts`), the driver, which csi-snapshotter calls.
 */
import {
  concluded,
  done,
  ending,
  type Flow,
  keyOf,
  orEnd,
  perform,
  type PersistentVolumeClaim,
  postpone,
  requeueAfter,
  retry,
  toError,
} from '@csi-sidecars/runtime';
import {
  contentNameOf,
  isBoundTo,
  snapshotFinalizers,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import * as binding from '../binding/flow.ts';
import { classNamed } from '../class-resolution.ts';
import { conclude, type Conclusion } from '../conclusions.ts';
import { hasAffinity } from '../managed-by.ts';
import { groupOwnerOf } from '../membership.ts';
import { int64, type Problem, timeOf } from '../status.ts';
import { isBound, unboundClaim } from '../source-volume.ts';
import { updateError } from '../update-error.ts';
import { snapshotKind } from './kind.ts';
import * as messages from './messages.ts';
import type { FlowSettings, Observed, Present } from './observe.ts';
import { defaultClassFor, planContent } from './plan-content.ts';
import { remove } from './removal.ts';
import { isDeleting, isProtected, isReady, originOf } from './snapshot.ts';
import * as step from './steps.ts';

type WithContent = Present & { readonly content: VolumeSnapshotContent };

const { fail } = binding;

/** A release of the claim takes two requests. */
const afterReleaseMs = 50;

export function* handle(seen: Observed, settings: FlowSettings): Flow<Conclusion> {
  const { snapshot } = seen;
  if (snapshot === undefined) return conclude('S1', done);
  const again: Present['again'] = (newer) => handle({ ...seen, ...newer }, settings);
  const run: Present = { ...seen, kind: snapshotKind, snapshot, settings, isConfirmed: false, again };
  if (isDeleting(snapshot)) return yield* remove(run);
  const { persistentVolumeClaimName, volumeSnapshotContentName } = snapshot.spec?.source ?? {};
  if ((persistentVolumeClaimName === undefined) === (volumeSnapshotContentName === undefined)) {
    return yield* fail('S2', snapshot, messages.invalidSource);
  }
  return isReady(snapshot) ? yield* lookAfterReady(run) : yield* makeReady(run);
}

function* makeReady(run: Present): Flow<Conclusion> {
  const { snapshot, content } = run;
  const withoutClass = binding.missingClassOf(run);
  // A snapshot that has its content needs no class any more.
  if (withoutClass !== undefined && !isBoundTo(content?.spec?.volumeSnapshotRef, snapshot)) {
    return yield* fail('S4', snapshot, withoutClass);
  }
  switch (originOf(snapshot)) {
    case 'static':
      return yield* makeStaticReady(run);
    case 'member':
      return yield* makeMemberReady(run);
    case 'dynamic':
      return yield* makeDynamicReady(run);
  }
}

function* makeStaticReady(first: Present): Flow<Conclusion> {
  const { content } = first;
  yield* binding.expectStatic(first);
  const run = yield* prepare(first, content?.spec?.deletionPolicy);
  yield* binding.begin(run);
  if (content === undefined) return yield* fail('S14', run.snapshot, messages.contentMissing);
  return yield* followContent({ ...run, ...(yield* binding.bind(run, content)) }, 'kept');
}

/** Its group makes the content. No error is reported: the group reports its own. */
function* makeMemberReady(first: Present): Flow<Conclusion> {
  const run = yield* prepare(first, undefined);
  yield* binding.begin(run);
  const { content, snapshot } = run;
  // A content that this loop made for the snapshot, before it became a member, waits for no group.
  const isMade =
    snapshot.status?.boundVolumeSnapshotContentName !== undefined ||
    content?.metadata?.name === contentNameOf(snapshot.metadata?.uid ?? '');
  if (!isMade || content === undefined) {
    return conclude('S13', postpone(`the group of snapshot ${keyOf(snapshot)} has not made its content yet`));
  }
  return isBoundTo(content.spec?.volumeSnapshotRef, snapshot)
    ? yield* followContent({ ...run, content }, 'kept')
    : yield* fail('S8', snapshot, messages.contentMisbound(content.metadata?.name ?? ''));
}

function* makeDynamicReady(first: Present): Flow<Conclusion> {
  const { content, snapshot } = first;
  if (content !== undefined) yield* expectDynamic(first, content);
  // Without a content, what the class says now is what the content will say.
  let snapshotClass = classNamed(first.classes, snapshot.spec?.volumeSnapshotClassName);
  let className: string | undefined;
  if (snapshot.spec?.volumeSnapshotClassName === undefined) {
    const chosen = defaultClassFor(first, snapshot);
    if (chosen.kind === 'error') return yield* fail('S5', snapshot, messages.defaultClassFailed(chosen.message));
    snapshotClass = chosen.value;
    className = snapshotClass.metadata?.name;
  }
  const policy = content === undefined ? snapshotClass?.deletionPolicy : content.spec?.deletionPolicy;
  const run = yield* prepare(first, policy, className);
  yield* binding.begin(run);
  if (content !== undefined) return yield* followContent({ ...run, content }, 'notReady');
  const made = yield* create(run);
  yield* expectDynamic(made, made.content);
  const prepared = yield* prepare(made, made.content.spec?.deletionPolicy);
  return yield* followContent({ ...prepared, content: made.content }, made.isNew ? 'kept' : 'notReady');
}

function* expectDynamic(run: Present, content: VolumeSnapshotContent): Flow<void> {
  yield* binding.expectDynamic(run, content);
  if (content.spec?.source?.snapshotHandle !== undefined) {
    throw ending(yield* fail('S9', run.snapshot, messages.handleSet(keyOf(run.snapshot))));
  }
}

function* prepare(run: Present, policy: string | undefined, className?: string): Flow<Present> {
  const finalizers = [snapshotFinalizers.asSource, ...(policy === 'Delete' ? [snapshotFinalizers.bound] : [])];
  return { ...run, ...(yield* binding.prepare(run, { finalizers, className })) };
}

/** The content that is made, or found: the cache may lack it. */
function* create(first: Present): Flow<WithContent & { readonly isNew: boolean }> {
  const found = yield* binding.cutContent(first);
  if (found !== undefined) return { ...first, content: found, isNew: false };
  const run = yield* protectClaim(first);
  const planned = planContent(run, run.snapshot, run.settings);
  if (planned.kind === 'error') {
    throw ending(yield* fail('S12', run.snapshot, messages.creationFailed(planned.message)));
  }
  const isOfNoNode =
    run.settings.distributed && run.node === '' && run.volume !== undefined && hasAffinity([run.volume]);
  const warning = isOfNoNode ? messages.noNode(planned.value.metadata?.name ?? '') : undefined;
  const made = yield* binding.createContent(run, { content: planned.value, warning });
  yield* perform('S12', step.noteMade, run.snapshot);
  return { ...run, ...made, isNew: true };
}

/** The run with a claim that has our finalizer, and that nothing takes off at this moment. */
function* protectClaim(first: Present): Flow<Present> {
  const { snapshot } = first;
  const failed = (of: VolumeSnapshot, cause: string) => fail('S12', of, messages.creationFailed(cause));
  const noClaim = updateError(snapshot.metadata?.name ?? '', 'cannot get claim from snapshot');
  const before = yield* perform('S12', step.lookAtClaim, snapshot);
  const { claim } = before;
  if (claim === undefined) throw ending(yield* failed(snapshot, noClaim));
  if (before.isClaimBeingReleased) throw ending(conclude('S12', requeueAfter(afterReleaseMs)));
  if (isProtected(claim)) return { ...first, ...before };
  const name = claim.metadata?.name ?? '';
  if (isDeleting(claim)) {
    const cause = 'cannot add finalizer on claim because it is being deleted';
    throw ending(yield* failed(snapshot, updateError(name, cause)));
  }
  // Nothing is cut of it yet. With our finalizer, one that is deleted now would stay until somebody deletes the snapshot.
  if (!isBound(claim)) {
    throw ending(
      yield* failed(snapshot, messages.noInput(snapshot.metadata?.name ?? '', unboundClaim(claim, 'snapshot'))),
    );
  }
  const run = { ...first, ...(yield* binding.confirm(first, 'S12')) };
  yield* orEnd(perform('S12', step.protectClaim, claim), (failure) =>
    failed(run.snapshot, updateError(name, failure.message)),
  );
  const after = yield* perform('S12', step.lookAtClaim, run.snapshot);
  if (after.claim === undefined) throw ending(yield* failed(run.snapshot, noClaim));
  if (after.isClaimBeingReleased) throw ending(conclude('S12', requeueAfter(afterReleaseMs)));
  if (isProtected(after.claim)) return { ...run, ...after };
  throw ending(conclude('S12', retry(new Error(`claim ${name} lost the finalizer that it was given`))));
}

/** The status of the snapshot follows that of its content. */
function* followContent(run: WithContent, readiness: Problem['readiness']): Flow<Conclusion> {
  const { snapshot, content, contentGroup, settings } = run;
  const { status } = content;
  const isInGroup = (status?.volumeGroupSnapshotHandle ?? '') !== '';
  if (isInGroup && settings.groups && contentGroup === undefined) {
    return yield* fail('S16', snapshot, messages.statusFailed(messages.groupNotFound(keyOf(snapshot)), readiness));
  }
  const facts = {
    readyToUse: status?.readyToUse === true,
    creationTime: timeOf(status?.creationTime),
    restoreSize: int64(status?.restoreSize),
    error: status?.error,
    // A name without a namespace: that of a group elsewhere would be the name of another group here.
    groupName: contentGroup?.namespace === snapshot.metadata?.namespace ? contentGroup?.name : undefined,
  };
  yield* waitForAnswer(run);
  return yield* binding.followContent(run, facts, readiness);
}

/** What the driver answers soon is written together with the name of the content. */
function* waitForAnswer({ snapshot, content }: WithContent): Flow<void> {
  const isNamed = snapshot.status?.boundVolumeSnapshotContentName !== undefined;
  if (isNamed || content.status !== undefined || isDeleting(content)) return;
  const waitMs = yield* perform('S22', step.answerWaitMs, snapshot);
  if (waitMs > 0) throw ending(conclude('S22', requeueAfter(waitMs)));
}

function* lookAfterReady(run: Present): Flow<Conclusion> {
  const { claim } = run;
  if (claim === undefined || !isProtected(claim) || run.isClaimInUse) return yield* checkReady(run);
  const unreleased = yield* releaseClaim(run.snapshot, claim);
  if (unreleased === undefined) return yield* checkReady(run);
  // A claim that could not be released is reported, and tried again, whatever else the run finds.
  const rest = yield* concluded(checkReady(run));
  const outcome = rest.outcome.kind === 'done' ? retry(unreleased) : rest.outcome;
  return { ...rest, outcome, events: [messages.claimNotReleased, ...rest.events] };
}

function* releaseClaim(snapshot: VolumeSnapshot, claim: PersistentVolumeClaim): Flow<Error | undefined> {
  try {
    yield* perform('S18', step.releaseClaim, snapshot, claim);
    return undefined;
  } catch (error) {
    return toError(error);
  }
}

function* checkReady(first: Present): Flow<Conclusion> {
  const content = yield* binding.readyContent(first);
  const policy = originOf(first.snapshot) === 'member' ? undefined : content.spec?.deletionPolicy;
  const run = yield* prepare(first, policy);
  yield* adopt(run);
  yield* binding.expectClass(run);
  return conclude('S21', done);
}

/** A member of a group that an administrator made gets its owner when it is ready, so that the deletion of the group finds it. */
function* adopt({ snapshot, group, settings }: Present): Flow<void> {
  const name = snapshot.status?.volumeGroupSnapshotName ?? '';
  if (!settings.groups || name === '' || group === 'none' || groupOwnerOf(snapshot) !== undefined) return;
  if (typeof group === 'string') {
    const cause = `volumegroupsnapshot.groupsnapshot.storage.k8s.io ${JSON.stringify(name)} not found`;
    throw ending(conclude('S20', retry(new Error(cause))));
  }
  yield* orEnd(perform('S20', step.adopt, snapshot, group), (failure) => conclude('S20', retry(failure)));
}
