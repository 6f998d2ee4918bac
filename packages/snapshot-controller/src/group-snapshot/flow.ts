// SPDX-License-Identifier: Apache-2.0
/**
 * The VolumeGroupSnapshot, from top to bottom: it is bound to its content, which is made, with the members, if the group is dynamic; its
 * status follows that of the content. Rows G1 to G18 of the page; those of a deletion are in `removal.ts`. Pure; what each step does is in
 * `steps.ts`.
 *
 * Not here: what a member does once it exists (`snapshot/`), finalizers of contents that others made (`content/`).
 */
import { done, ending, finalizersWith, type Flow, isNotFound, orEnd, perform, retry } from '@csi-sidecars/runtime';
import {
  isBoundTo,
  mayBindTo,
  snapshotFinalizers,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
} from '@csi-sidecars/volume';
import { classNamed, missingClass } from '../class-resolution.ts';
import { conclude, type Conclusion, failing } from '../conclusions.ts';
import type { Problem } from '../save-error.ts';
import type { Source } from '../source-volume.ts';
import { mergedStatus } from '../status.ts';
import { isAnswered, updateError } from '../update-error.ts';
import { contentNameFor, expectedContentName, groupKey, isReady, isStatic, wasCut } from './group.ts';
import { cutSnapshots } from './members.ts';
import * as messages from './messages.ts';
import type { Observed, Present } from './observe.ts';
import { classKind, defaultClassFor, planContent } from './plan-content.ts';
import { remove } from './removal.ts';
import * as step from './steps.ts';

type WithContent = Present & { readonly content: VolumeGroupSnapshotContent };

const fail = failing(step.saveError);

export function* handle(seen: Observed): Flow<Conclusion> {
  const { group } = seen;
  if (group === undefined) return conclude('G1', done);
  const run = { ...seen, group, isConfirmed: false };
  if (isDeleting(group)) return yield* remove(run);
  const { selector, volumeGroupSnapshotContentName } = group.spec?.source ?? {};
  if ((selector === undefined) === (volumeGroupSnapshotContentName === undefined)) {
    return yield* fail('G2', group, messages.invalidSource);
  }
  return isReady(group) ? yield* checkReady(run) : yield* makeReady(run);
}

function isDeleting({ metadata }: VolumeGroupSnapshot): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

function* makeReady(run: Present): Flow<Conclusion> {
  const { group, content } = run;
  const isCreated = group.status?.creationTime !== undefined;
  const operations = [...(isCreated ? [] : (['CreateGroupSnapshot'] as const)), 'CreateGroupSnapshotAndReady'] as const;
  yield* perform('G3', step.begin, group, { operations, driver: driverOf(run) });
  const withoutClass = missingClassOf(run);
  // A group that has its content needs no class any more.
  if (withoutClass !== undefined && !isBoundTo(content?.spec?.volumeGroupSnapshotRef, group)) {
    return yield* fail('G4', group, withoutClass);
  }
  return isStatic(group) ? yield* makeStaticReady(run) : yield* makeDynamicReady(run);
}

/** The class that the group names does not exist. */
function missingClassOf({ classes, group }: Present): Problem | undefined {
  const name = group.spec?.volumeGroupSnapshotClassName;
  return name === undefined || classNamed(classes, name) !== undefined
    ? undefined
    : messages.classFailed(missingClass(classKind, name));
}

function driverOf({ content, classes, group }: Present): string {
  return content?.spec?.driver ?? classNamed(classes, group.spec?.volumeGroupSnapshotClassName)?.driver ?? '';
}

function* makeStaticReady(first: Present): Flow<Conclusion> {
  const { content, group } = first;
  if (expectedContentName(group) === '') {
    const message = `empty VolumeGroupSnapshotContentName for group snapshot ${groupKey(group)}`;
    return conclude('G6', retry(new Error(message)));
  }
  if (content === undefined) return yield* fail('G13', group, messages.contentMissing);
  if (content.spec?.source?.groupSnapshotHandles === undefined) {
    return yield* fail('G7', group, messages.contentNotStatic);
  }
  if (!mayBindTo(content.spec.volumeGroupSnapshotRef, group)) {
    return yield* fail('G8', group, messages.contentMisbound(content.metadata?.name ?? ''));
  }
  const run = yield* prepare(first, undefined);
  if (isBindingComplete(run.group, content)) return yield* followContent({ ...run, content }, true, 'kept');
  const there = yield* confirm(run, 'G14');
  const bound = yield* orEnd(perform('G14', step.bind, there.group, content), (failure) =>
    fail('G14', there.group, messages.bindFailed(failure.message)),
  );
  return mayBindTo(bound.spec?.volumeGroupSnapshotRef, there.group)
    ? yield* followContent({ ...there, content: bound }, true, 'kept')
    : yield* fail('G8', there.group, messages.contentMisbound(bound.metadata?.name ?? ''));
}

/** The content refers to the group, and names its class if it has one. A class that the content has already stays. */
function isBindingComplete(group: VolumeGroupSnapshot, { spec }: VolumeGroupSnapshotContent): boolean {
  const { volumeGroupSnapshotRef, volumeGroupSnapshotClassName } = spec ?? {};
  const needsClass =
    group.spec?.volumeGroupSnapshotClassName !== undefined && volumeGroupSnapshotClassName === undefined;
  return isBoundTo(volumeGroupSnapshotRef, group) && !needsClass;
}

function* makeDynamicReady(first: Present): Flow<Conclusion> {
  const { content } = first;
  const made = content === undefined ? yield* create(first) : { ...first, content, isNew: false };
  yield* expectDynamic(made);
  const run = { ...made, ...(yield* prepare(made, undefined)) };
  yield* completeMembers(run);
  // What the driver calls ready is not ready for users before its members exist.
  const isComplete = cutSnapshots(made.content) !== undefined;
  return yield* followContent({ ...run, content: made.content }, isComplete, made.isNew ? 'kept' : 'notReady');
}

/** A content of a dynamic group, and of this one. */
function* expectDynamic({ group, content }: WithContent): Flow<void> {
  const name = content.metadata?.name ?? '';
  if (content.spec?.source?.groupSnapshotHandles !== undefined) {
    throw ending(yield* fail('G7', group, messages.contentNotDynamic(name)));
  }
  if (!isBoundTo(content.spec?.volumeGroupSnapshotRef, group)) {
    throw ending(yield* fail('G8', group, messages.contentMisbound(name)));
  }
}

/** The content that is made, or found: the cache may lack it. */
function* create(first: Present): Flow<WithContent & { readonly isNew: boolean }> {
  const { group } = first;
  if (wasCut(group, messages.contentMissingMessage)) {
    const content = yield* askContent(first, 'G12');
    if (content === undefined) throw ending(yield* fail('G12', group, messages.contentMissing));
    return { ...first, content, isNew: false };
  }
  const hasClass = group.spec?.volumeGroupSnapshotClassName !== undefined;
  const sources = yield* orEnd(perform('G9', step.listClaims, group), ({ message }) =>
    hasClass
      ? fail('G11', group, messages.creationFailed(messages.noInput(group.metadata?.name ?? '', message)))
      : fail('G5', group, messages.defaultClassFailed(message)),
  );
  const groupClass = hasClass
    ? classNamed(first.classes, group.spec?.volumeGroupSnapshotClassName)
    : yield* defaultClass(first, sources);
  const plan = planContent({ groupClass, sources, nodes: first.nodes }, group);
  if (plan.kind === 'refused') {
    const events = plan.event === undefined ? [] : [plan.event];
    throw ending(yield* fail('G11', group, { ...messages.creationFailed(plan.message), events }));
  }
  const prepared = yield* prepare(first, hasClass ? undefined : groupClass?.metadata?.name);
  const run = yield* confirm(prepared, 'G11');
  const { content, warning } = plan;
  const stored = yield* orEnd(perform('G11', step.createContent, run.group, { content, warning }), (failure) =>
    fail('G11', run.group, messages.creationFailed(updateError(groupKey(group), failure.message))),
  );
  return { ...run, content: stored, isNew: true };
}

function* defaultClass({ classes, group }: Present, sources: readonly Source[]): Flow<VolumeGroupSnapshotClass> {
  const chosen = defaultClassFor(classes, group, sources);
  if (chosen.kind === 'ok') return chosen.value;
  throw ending(yield* fail('G5', group, messages.defaultClassFailed(chosen.message)));
}

/** Before the content exists: a group that is deleted right after it must not leave it behind. */
function* prepare(run: Present, className: string | undefined): Flow<Present> {
  if (finalizersWith(run.group, snapshotFinalizers.groupBound) === undefined && className === undefined) return run;
  const group = yield* orEnd(perform('G10', step.prepare, run.group, className), (failure) =>
    conclude('G10', retry(failure), messages.finalizerFailed(failure.message)),
  );
  if (isDeleting(group)) throw ending(yield* handle({ ...run, group }));
  return { ...run, group, isConfirmed: true };
}

/**
 * For a group that is gone a content would be made that belongs to nothing, or a static content would be bound to it for ever. Its finalizer
 * was written by an earlier run, and the cache may be behind.
 */
function* confirm(run: Present, row: string): Flow<Present> {
  if (run.isConfirmed) return run;
  const group = yield* orEnd(perform(row, step.confirm, run.group), (failure) => conclude(row, retry(failure)));
  if (group === undefined || isDeleting(group)) throw ending(yield* handle({ ...run, group }));
  return { ...run, group, isConfirmed: true };
}

/** No error is reported: each step is repeated until it succeeds. */
function* completeMembers({ incomplete }: Present): Flow<void> {
  if (incomplete.length === 0) return;
  yield* orEnd(perform('G15', step.saveMembers, incomplete), (failure) => conclude('G15', retry(failure)));
}

/** The status of the group follows that of its content. */
function* followContent(
  { group, content }: WithContent,
  isComplete: boolean,
  readiness: Problem['readiness'],
): Flow<Conclusion> {
  const { status } = content;
  const facts = {
    readyToUse: status?.readyToUse === true && isComplete,
    creationTime: status?.creationTime,
    error: status?.error,
  };
  const bound = { field: step.boundField, name: content.metadata?.name ?? '' };
  if (mergedStatus(group.status, facts, bound) === undefined) return conclude('G16', done);
  yield* orEnd(perform('G16', step.saveStatus, group, { content, facts }), (failure) =>
    // Deleted meanwhile: there is nothing left to report it on. Without an answer the status may have been written, and an error would stay.
    isNotFound(failure) || !isAnswered(failure)
      ? conclude('G16', retry(failure))
      : fail('G16', group, messages.statusFailed(updateError(groupKey(group), failure.message), readiness)),
  );
  return conclude('G16', done);
}

function* checkReady(first: Present): Flow<Conclusion> {
  const { group } = first;
  const unwritten = { outcome: done };
  const content = first.content ?? (yield* askContent(first, 'G13'));
  if (content === undefined) return yield* fail('G13', group, { ...messages.contentMissing, ...unwritten });
  if (!isBoundTo(content.spec?.volumeGroupSnapshotRef, group)) {
    const name = content.metadata?.name ?? '';
    return name === expectedContentName(group)
      ? yield* fail('G8', group, messages.contentMisbound(name))
      : yield* fail('G17', group, { ...messages.misbound, ...unwritten });
  }
  const run = yield* prepare(first, undefined);
  if (!isStatic(run.group)) yield* completeMembers(run);
  const withoutClass = missingClassOf(run);
  // The class is needed by nothing that is still to be done, and its arrival wakes the group.
  if (withoutClass !== undefined) return yield* fail('G4', run.group, { ...withoutClass, ...unwritten });
  return conclude('G18', done);
}

/** The cache may be behind: the API server is asked. */
function askContent({ group }: Present, row: string): Flow<VolumeGroupSnapshotContent | undefined> {
  return orEnd(perform(row, step.askContent, contentNameFor(group)), (failure) => conclude(row, retry(failure)));
}
