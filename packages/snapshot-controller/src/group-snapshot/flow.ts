// SPDX-License-Identifier: Apache-2.0
/**
 * The VolumeGroupSnapshot, from top to bottom: it is bound to its content, which is made, with the members, if the group is dynamic; its
 * status follows that of the content. Rows G1 to G18 of the page; those of a deletion are in `removal.ts`, and what a single snapshot does as
 * well is in `binding/`. Pure; what each step does is in `steps.ts`.
 *
 * Not here: what a member does once it exists (`snapshot/`), finalizers of contents that others made (`content/`).
 */
import { done, ending, type Flow, orEnd, perform, retry } from '@csi-sidecars/runtime';
import {
  isBoundTo,
  snapshotFinalizers,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
} from '@csi-sidecars/volume';
import * as binding from '../binding/flow.ts';
import { classNamed } from '../class-resolution.ts';
import { conclude, type Conclusion } from '../conclusions.ts';
import type { Problem } from '../status.ts';
import type { Source } from '../source-volume.ts';
import { isReady, isStatic } from './group.ts';
import { groupKind } from './kind.ts';
import { cutSnapshots } from './members.ts';
import * as messages from './messages.ts';
import type { Observed, Present } from './observe.ts';
import { defaultClassFor, planContent } from './plan-content.ts';
import { remove } from './removal.ts';
import * as step from './steps.ts';

type WithContent = Present & { readonly content: VolumeGroupSnapshotContent };

const { fail } = binding;

export function* handle({ group, ...seen }: Observed): Flow<Conclusion> {
  if (group === undefined) return conclude('G1', done);
  const again: Present['again'] = ({ snapshot, content }) => handle({ ...seen, group: snapshot, content });
  const run: Present = { ...seen, kind: groupKind, snapshot: group, isConfirmed: false, again };
  if (group.metadata?.deletionTimestamp !== undefined) return yield* remove(run);
  const { selector, volumeGroupSnapshotContentName } = group.spec?.source ?? {};
  if ((selector === undefined) === (volumeGroupSnapshotContentName === undefined)) {
    return yield* fail('G2', group, messages.invalidSource);
  }
  return isReady(group) ? yield* checkReady(run) : yield* makeReady(run);
}

function* makeReady(run: Present): Flow<Conclusion> {
  const { snapshot: group, content } = run;
  yield* binding.begin(run);
  const withoutClass = binding.missingClassOf(run);
  // A group that has its content needs no class any more.
  if (withoutClass !== undefined && !isBoundTo(content?.spec?.volumeGroupSnapshotRef, group)) {
    return yield* fail('G4', group, withoutClass);
  }
  return isStatic(group) ? yield* makeStaticReady(run) : yield* makeDynamicReady(run);
}

function* makeStaticReady(first: Present): Flow<Conclusion> {
  const { content, snapshot: group } = first;
  yield* binding.expectStatic(first);
  if (content === undefined) return yield* fail('G13', group, messages.contentMissing);
  const run = yield* prepare(first);
  return yield* followContent({ ...run, ...(yield* binding.bind(run, content)) }, true, 'kept');
}

function* makeDynamicReady(first: Present): Flow<Conclusion> {
  const { content } = first;
  const made = content === undefined ? yield* create(first) : { ...first, content, isNew: false };
  yield* binding.expectDynamic(made, made.content);
  const run = yield* prepare(made);
  yield* completeMembers(run);
  // What the driver calls ready is not ready for users before its members exist.
  const isComplete = cutSnapshots(made.content) !== undefined;
  return yield* followContent({ ...run, content: made.content }, isComplete, made.isNew ? 'kept' : 'notReady');
}

/** The content that is made, or found: the cache may lack it. */
function* create(first: Present): Flow<WithContent & { readonly isNew: boolean }> {
  const { snapshot: group } = first;
  const found = yield* binding.cutContent(first);
  if (found !== undefined) return { ...first, content: found, isNew: false };
  const className = group.spec?.volumeGroupSnapshotClassName;
  const sources = yield* orEnd(perform('G9', step.listClaims, group), ({ message }) =>
    className === undefined
      ? fail('G5', group, messages.defaultClassFailed(message))
      : fail('G11', group, messages.creationFailed(messages.noInput(group.metadata?.name ?? '', message))),
  );
  const groupClass =
    className === undefined ? yield* defaultClass(first, sources) : classNamed(first.classes, className);
  const plan = planContent({ groupClass, sources, nodes: first.nodes }, group);
  if (plan.kind === 'refused') {
    const events = plan.event === undefined ? [] : [plan.event];
    throw ending(yield* fail('G11', group, { ...messages.creationFailed(plan.message), events }));
  }
  const run = yield* prepare(first, className === undefined ? groupClass?.metadata?.name : undefined);
  return { ...run, ...(yield* binding.createContent(run, plan)), isNew: true };
}

function* defaultClass(
  { classes, snapshot: group }: Present,
  sources: readonly Source[],
): Flow<VolumeGroupSnapshotClass> {
  const chosen = defaultClassFor(classes, group, sources);
  if (chosen.kind === 'ok') return chosen.value;
  throw ending(yield* fail('G5', group, messages.defaultClassFailed(chosen.message)));
}

/** Before the content exists: a group that is deleted right after it must not leave it behind. */
function* prepare(run: Present, className?: string): Flow<Present> {
  return { ...run, ...(yield* binding.prepare(run, { finalizers: [snapshotFinalizers.groupBound], className })) };
}

/** No error is reported: each step is repeated until it succeeds. */
function* completeMembers({ incomplete }: Present): Flow<void> {
  if (incomplete.length === 0) return;
  yield* orEnd(perform('G15', step.saveMembers, incomplete), (failure) => conclude('G15', retry(failure)));
}

/** The status of the group follows that of its content. */
function* followContent(run: WithContent, isComplete: boolean, readiness: Problem['readiness']): Flow<Conclusion> {
  const { readyToUse, creationTime, error } = run.content.status ?? {};
  const facts = { readyToUse: readyToUse === true && isComplete, creationTime, error };
  return yield* binding.followContent(run, facts, readiness);
}

function* checkReady(first: Present): Flow<Conclusion> {
  yield* binding.readyContent(first);
  const run = yield* prepare(first);
  if (!isStatic(run.snapshot)) yield* completeMembers(run);
  yield* binding.expectClass(run);
  return conclude('G18', done);
}
