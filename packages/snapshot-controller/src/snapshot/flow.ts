// SPDX-License-Identifier: Apache-2.0
/**
 * The VolumeSnapshot, from top to bottom: it is bound to its content, which is made if the snapshot is dynamic; its status follows that of
 * the content; its claim is protected while it is cut, and released when it is ready. Rows S1 to S21 of the page; those of a deletion are in
 * `removal.ts`. Pure; what each step does is in `steps.ts`.
 *
 * Not here: finalizers of contents that others made (`content/`), members and deletion of groups (`group-snapshot/`), claims that are left
 * without a snapshot (`claim.ts`), the driver, which csi-snapshotter calls.
 */
import {
  concluded,
  done,
  ending,
  finalizersWith,
  type Flow,
  isNotFound,
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
  mayBindTo,
  snapshotFinalizers,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import { classNamed } from '../class-resolution.ts';
import { conclude, type Conclusion, failing } from '../conclusions.ts';
import { hasAffinity } from '../managed-by.ts';
import { groupOwnerOf } from '../membership.ts';
import type { Problem } from '../save-error.ts';
import { isBound, unboundClaim } from '../source-volume.ts';
import { int64, mergedStatus, timeOf } from '../status.ts';
import { isAnswered, updateError } from '../update-error.ts';
import { defaultClassFor, driverOf, missingClassOf } from './default-class.ts';
import * as messages from './messages.ts';
import type { Observed, FlowSettings, Present } from './observe.ts';
import { planContent } from './plan-content.ts';
import { remove } from './removal.ts';
import {
  contentNameFor,
  expectedContentName,
  isDeleting,
  isProtected,
  isReady,
  originOf,
  snapshotKey,
  wasCut,
} from './snapshot.ts';
import * as step from './steps.ts';

type WithContent = Present & { readonly content: VolumeSnapshotContent };

const fail = failing(step.saveError);

/** A release of the claim takes two requests. */
const afterReleaseMs = 50;

export function* handle(seen: Observed, settings: FlowSettings): Flow<Conclusion> {
  const { snapshot } = seen;
  if (snapshot === undefined) return conclude('S1', done);
  const run = { ...seen, snapshot, settings, isConfirmed: false };
  if (isDeleting(snapshot)) return yield* remove(run);
  const { persistentVolumeClaimName, volumeSnapshotContentName } = snapshot.spec?.source ?? {};
  if ((persistentVolumeClaimName === undefined) === (volumeSnapshotContentName === undefined)) {
    return yield* fail('S2', snapshot, messages.invalidSource);
  }
  return isReady(snapshot) ? yield* lookAfterReady(run) : yield* makeReady(run);
}

function* makeReady(run: Present): Flow<Conclusion> {
  const { snapshot, content } = run;
  const withoutClass = missingClassOf(run, snapshot);
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
  const { content, snapshot } = first;
  if (expectedContentName(snapshot) === '') {
    return conclude('S6', retry(new Error(`empty VolumeSnapshotContentName for snapshot ${snapshotKey(snapshot)}`)));
  }
  if (content !== undefined && content.spec?.source?.snapshotHandle === undefined) {
    return yield* fail('S7', snapshot, messages.contentNotStatic);
  }
  if (content !== undefined && !mayBindTo(content.spec?.volumeSnapshotRef, snapshot)) {
    return yield* fail('S8', snapshot, messages.contentMisbound(content.metadata?.name ?? ''));
  }
  const run = yield* prepare(first, content?.spec?.deletionPolicy);
  yield* begin(run);
  if (content === undefined) return yield* fail('S14', run.snapshot, messages.contentMissing);
  if (isBindingComplete(run.snapshot, content)) return yield* followContent({ ...run, content }, 'kept');
  const there = yield* confirm(run, 'S15');
  const bound = yield* orEnd(perform('S15', step.bind, there.snapshot, content), (failure) =>
    fail('S15', there.snapshot, messages.bindFailed(failure.message)),
  );
  return mayBindTo(bound.spec?.volumeSnapshotRef, there.snapshot)
    ? yield* followContent({ ...there, content: bound }, 'kept')
    : yield* fail('S8', there.snapshot, messages.contentMisbound(bound.metadata?.name ?? ''));
}

/** The content refers to the snapshot, and names its class if it has one. A class that the content has already stays. */
function isBindingComplete(snapshot: VolumeSnapshot, { spec }: VolumeSnapshotContent): boolean {
  const { volumeSnapshotRef, volumeSnapshotClassName } = spec ?? {};
  const needsClass = snapshot.spec?.volumeSnapshotClassName !== undefined && volumeSnapshotClassName === undefined;
  return isBoundTo(volumeSnapshotRef, snapshot) && !needsClass;
}

/** Its group makes the content. No error is reported: the group reports its own. */
function* makeMemberReady(first: Present): Flow<Conclusion> {
  const run = yield* prepare(first, undefined);
  yield* begin(run);
  const { content, snapshot } = run;
  // A content that this loop made for the snapshot, before it became a member, waits for no group.
  const isMade =
    snapshot.status?.boundVolumeSnapshotContentName !== undefined ||
    content?.metadata?.name === contentNameOf(snapshot.metadata?.uid ?? '');
  if (!isMade || content === undefined) {
    return conclude('S13', postpone(`the group of snapshot ${snapshotKey(snapshot)} has not made its content yet`));
  }
  return isBoundTo(content.spec?.volumeSnapshotRef, snapshot)
    ? yield* followContent({ ...run, content }, 'kept')
    : yield* fail('S8', snapshot, messages.contentMisbound(content.metadata?.name ?? ''));
}

function* makeDynamicReady(first: Present): Flow<Conclusion> {
  const { content, snapshot } = first;
  if (content !== undefined) yield* expectDynamic(snapshot, content);
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
  yield* begin(run);
  if (content !== undefined) return yield* followContent({ ...run, content }, 'notReady');
  const made = yield* create(run);
  yield* expectDynamic(made.snapshot, made.content);
  const prepared = yield* prepare(made, made.content.spec?.deletionPolicy);
  return yield* followContent({ ...prepared, content: made.content }, made.isNew ? 'kept' : 'notReady');
}

/** A content of a dynamic snapshot, and of this one. */
function* expectDynamic(snapshot: VolumeSnapshot, { metadata, spec }: VolumeSnapshotContent): Flow<void> {
  const name = metadata?.name ?? '';
  const { volumeHandle, snapshotHandle } = spec?.source ?? {};
  if (volumeHandle === undefined) throw ending(yield* fail('S7', snapshot, messages.contentNotDynamic(name)));
  if (!isBoundTo(spec?.volumeSnapshotRef, snapshot)) {
    throw ending(yield* fail('S8', snapshot, messages.contentMisbound(name)));
  }
  if (snapshotHandle !== undefined)
    throw ending(yield* fail('S9', snapshot, messages.handleSet(snapshotKey(snapshot))));
}

/** Finalizers and class in one write, before anything that relies on them. */
function* prepare(run: Present, policy: string | undefined, className?: string): Flow<Present> {
  const finalizers = [snapshotFinalizers.asSource, ...(policy === 'Delete' ? [snapshotFinalizers.bound] : [])];
  if (finalizersWith(run.snapshot, ...finalizers) === undefined && className === undefined) return run;
  const snapshot = yield* orEnd(perform('S10', step.prepare, run.snapshot, { finalizers, className }), (failure) =>
    conclude('S10', retry(failure), messages.finalizerFailed(failure.message)),
  );
  if (isDeleting(snapshot)) throw ending(yield* handle({ ...run, snapshot }, run.settings));
  return { ...run, snapshot, isConfirmed: true };
}

/**
 * For a snapshot that is gone a content would be made that belongs to nothing, a static content would be bound to it for ever, and a claim
 * would stay protected. Its finalizers were written by an earlier run, and the cache may be behind.
 */
function* confirm(run: Present, row: string): Flow<Present> {
  if (run.isConfirmed) return run;
  const snapshot = yield* orEnd(perform(row, step.confirm, run.snapshot), (failure) => conclude(row, retry(failure)));
  if (snapshot === undefined || isDeleting(snapshot)) throw ending(yield* handle({ ...run, snapshot }, run.settings));
  return { ...run, snapshot, isConfirmed: true };
}

/** Only what can go on is counted: a snapshot without its class or its finalizers is not begun. */
function* begin(run: Present): Flow<void> {
  const { snapshot } = run;
  const isCreated = snapshot.status?.creationTime !== undefined;
  const operations = [...(isCreated ? [] : (['CreateSnapshot'] as const)), 'CreateSnapshotAndReady'] as const;
  yield* perform('S3', step.begin, snapshot, { operations, driver: driverOf(run, snapshot) });
}

/** The content that is made, or found: the cache may lack it. */
function* create(first: Present): Flow<WithContent & { readonly isNew: boolean }> {
  const { snapshot } = first;
  if (wasCut(snapshot, messages.contentMissingMessage)) {
    const content = yield* askContent(first, 'S11');
    if (content === undefined) throw ending(yield* fail('S11', snapshot, messages.contentMissing));
    return { ...first, content, isNew: false };
  }
  const failed = (of: VolumeSnapshot, cause: string) => fail('S12', of, messages.creationFailed(cause));
  const run = yield* protectClaim(first);
  const planned = planContent(run, run.snapshot, run.settings);
  if (planned.kind === 'error') throw ending(yield* failed(run.snapshot, planned.message));
  const there = yield* confirm(run, 'S12');
  const isOfNoNode = run.node === '' && run.volume !== undefined && hasAffinity([run.volume]);
  const creation = { content: planned.value, isOfNoNode };
  const content = yield* orEnd(perform('S12', step.createContent, there.snapshot, creation), (failure) =>
    failed(there.snapshot, updateError(snapshotKey(snapshot), failure.message)),
  );
  return { ...there, content, isNew: true };
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
  const run = yield* confirm(first, 'S12');
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
function* followContent(
  { snapshot, content, contentGroup, settings }: WithContent,
  readiness: Problem['readiness'],
): Flow<Conclusion> {
  const failed = (cause: string) => fail('S16', snapshot, messages.statusFailed(cause, readiness));
  const { status } = content;
  const isInGroup = (status?.volumeGroupSnapshotHandle ?? '') !== '';
  if (isInGroup && settings.groups && contentGroup === undefined) {
    return yield* failed(messages.groupNotFound(snapshotKey(snapshot)));
  }
  const facts = {
    readyToUse: status?.readyToUse === true,
    creationTime: timeOf(status?.creationTime),
    restoreSize: int64(status?.restoreSize),
    error: status?.error,
    // A name without a namespace: that of a group elsewhere would be the name of another group here.
    groupName: contentGroup?.namespace === snapshot.metadata?.namespace ? contentGroup?.name : undefined,
  };
  const bound = { field: step.boundField, name: content.metadata?.name ?? '' };
  if (mergedStatus(snapshot.status, facts, bound) === undefined) return conclude('S17', done);
  yield* orEnd(perform('S16', step.saveStatus, snapshot, { content, facts }), (failure) =>
    // Deleted meanwhile: there is nothing left to report it on. Without an answer the status may have been written, and an error would stay.
    isNotFound(failure) || !isAnswered(failure)
      ? conclude('S16', retry(failure))
      : failed(updateError(snapshotKey(snapshot), failure.message)),
  );
  return conclude('S17', done);
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
  const { snapshot } = first;
  const unwritten = { outcome: done };
  const content = first.content ?? (yield* askContent(first, 'S14'));
  if (content === undefined) return yield* fail('S14', snapshot, { ...messages.contentMissing, ...unwritten });
  if (!isBoundTo(content.spec?.volumeSnapshotRef, snapshot)) {
    const name = content.metadata?.name ?? '';
    // A static content that was made again belongs to none yet, and is bound when the snapshot is not ready any more.
    const isFree = originOf(snapshot) === 'static' && mayBindTo(content.spec?.volumeSnapshotRef, snapshot);
    return name === expectedContentName(snapshot) && !isFree
      ? yield* fail('S8', snapshot, messages.contentMisbound(name))
      : yield* fail('S19', snapshot, { ...messages.misbound, ...unwritten });
  }
  const policy = originOf(snapshot) === 'member' ? undefined : content.spec?.deletionPolicy;
  const run = yield* prepare(first, policy);
  yield* adopt(run);
  const withoutClass = missingClassOf(run, run.snapshot);
  // The class is needed by nothing that is still to be done, and its arrival wakes the snapshot.
  if (withoutClass !== undefined) return yield* fail('S4', run.snapshot, { ...withoutClass, ...unwritten });
  return conclude('S21', done);
}

/** The cache may be behind: the API server is asked. */
function askContent({ snapshot }: Present, row: string): Flow<VolumeSnapshotContent | undefined> {
  return orEnd(perform(row, step.askContent, contentNameFor(snapshot)), (failure) => conclude(row, retry(failure)));
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
