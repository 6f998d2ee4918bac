// SPDX-License-Identifier: Apache-2.0
/** Rows G1 to G18. Pure; first match wins. The rows of a deletion are in `decide-deletion.ts`. */
import { done, finalizersWith, isFailed, isNotFound, retry } from '@csi-sidecars/runtime';
import {
  isBoundTo,
  mayBindTo,
  snapshotFinalizers,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
} from '@csi-sidecars/volume';
import { classNamed, missingClass } from '../class-resolution.ts';
import { conclude, fail } from '../conclusions.ts';
import { confirm } from '../confirm.ts';
import type { Problem } from '../save-error.ts';
import { mergedStatus } from '../status.ts';
import { isAnswered, updateError } from '../update-error.ts';
import { decideDeletion } from './decide-deletion.ts';
import { contentNameFor, expectedContentName, groupKey, isReady, isStatic, wasCut } from './group.ts';
import { cutSnapshots } from './members.ts';
import * as messages from './messages.ts';
import { classKind, defaultClassFor, planContent } from './plan-content.ts';
import type { Action, GroupState } from './state.ts';

/** Both a group and its content. */
interface Pair {
  readonly group: VolumeGroupSnapshot;
  readonly content: VolumeGroupSnapshotContent;
}

export function decide(s: GroupState): Action {
  const { group } = s;
  if (group === undefined) return conclude('G1', done);
  if (group.metadata?.deletionTimestamp !== undefined) return decideDeletion(s, group);
  const { selector, volumeGroupSnapshotContentName } = group.spec?.source ?? {};
  if ((selector === undefined) === (volumeGroupSnapshotContentName === undefined)) {
    return fail(s, { row: 'G2', object: group }, messages.invalidSource);
  }
  if (s.statusSaved === 'done') return conclude('G16', done);
  if (isReady(group)) return decideReady(s, group);
  return decideUnready(s, group);
}

function decideUnready(s: GroupState, group: VolumeGroupSnapshot): Action {
  if (!s.isBegun) {
    const isCreated = group.status?.creationTime !== undefined;
    const operations = [
      ...(isCreated ? [] : (['CreateGroupSnapshot'] as const)),
      'CreateGroupSnapshotAndReady',
    ] as const;
    return { row: 'G3', kind: 'begin', operations, driver: driverOf(s, group) };
  }
  const withoutClass = missingClassOf(s, group);
  // A group that has its content needs no class any more.
  if (withoutClass !== undefined && !isBoundTo(s.content?.spec?.volumeGroupSnapshotRef, group)) {
    return fail(s, { row: 'G4', object: group }, withoutClass);
  }
  return isStatic(group) ? decideStatic(s, group) : decideDynamic(s, group);
}

/** The class that the group names does not exist. */
function missingClassOf({ classes }: GroupState, { spec }: VolumeGroupSnapshot): Problem | undefined {
  const name = spec?.volumeGroupSnapshotClassName;
  return name === undefined || classNamed(classes, name) !== undefined
    ? undefined
    : messages.classFailed(missingClass(classKind, name));
}

function driverOf({ content, classes }: GroupState, { spec }: VolumeGroupSnapshot): string {
  return content?.spec?.driver ?? classNamed(classes, spec?.volumeGroupSnapshotClassName)?.driver ?? '';
}

function decideStatic(s: GroupState, group: VolumeGroupSnapshot): Action {
  const { content } = s;
  if (expectedContentName(group) === '') {
    const message = `empty VolumeGroupSnapshotContentName for group snapshot ${groupKey(group)}`;
    return conclude('G6', retry(new Error(message)));
  }
  if (content === undefined) return fail(s, { row: 'G13', object: group }, messages.contentMissing);
  if (content.spec?.source?.groupSnapshotHandles === undefined) {
    return fail(s, { row: 'G7', object: group }, messages.contentNotStatic);
  }
  if (!mayBindTo(content.spec.volumeGroupSnapshotRef, group)) {
    return fail(s, { row: 'G8', object: group }, messages.contentMisbound(content.metadata?.name ?? ''));
  }
  const unprepared = prepare(s, group, undefined);
  if (unprepared !== undefined) return unprepared;
  if (isFailed(s.bound)) return fail(s, { row: 'G14', object: group }, messages.bindFailed(s.bound.failure.message));
  const pair = { group, content };
  if (s.bound === 'untried' && !isBindingComplete(pair)) {
    return confirm(s, 'G14', group) ?? { row: 'G14', kind: 'bind', ...pair };
  }
  return decideStatus(s, pair, { isComplete: true, readiness: 'kept' });
}

/** The content refers to the group, and names its class if it has one. A class that the content has already stays. */
function isBindingComplete({ group, content }: Pair): boolean {
  const { volumeGroupSnapshotRef, volumeGroupSnapshotClassName } = content.spec ?? {};
  const needsClass =
    group.spec?.volumeGroupSnapshotClassName !== undefined && volumeGroupSnapshotClassName === undefined;
  return isBoundTo(volumeGroupSnapshotRef, group) && !needsClass;
}

function decideDynamic(s: GroupState, group: VolumeGroupSnapshot): Action {
  const { content } = s;
  if (content === undefined) return decideCreation(s, group);
  const name = content.metadata?.name ?? '';
  if (content.spec?.source?.groupSnapshotHandles !== undefined) {
    return fail(s, { row: 'G7', object: group }, messages.contentNotDynamic(name));
  }
  if (!isBoundTo(content.spec?.volumeGroupSnapshotRef, group)) {
    return fail(s, { row: 'G8', object: group }, messages.contentMisbound(name));
  }
  const unprepared = prepare(s, group, undefined) ?? completeMembers(s);
  if (unprepared !== undefined) return unprepared;
  // What the driver calls ready is not ready for users before its members exist.
  const isComplete = cutSnapshots(content) !== undefined;
  const readiness = s.created === 'done' ? 'kept' : 'notReady';
  return decideStatus(s, { group, content }, { isComplete, readiness });
}

function decideCreation(s: GroupState, group: VolumeGroupSnapshot): Action {
  const key = groupKey(group);
  const name = group.metadata?.name ?? '';
  const failed = (cause: string): Action => fail(s, { row: 'G11', object: group }, messages.creationFailed(cause));
  if (wasCut(group, messages.contentMissingMessage)) {
    return askContent(s, group, 'G12') ?? fail(s, { row: 'G12', object: group }, messages.contentMissing);
  }
  const hasClass = group.spec?.volumeGroupSnapshotClassName !== undefined;
  if (s.sources === 'unasked') return { row: 'G9', kind: 'listClaims', group };
  if (isFailed(s.sources)) {
    const { message } = s.sources.failure;
    return hasClass
      ? failed(messages.noInput(name, message))
      : fail(s, { row: 'G5', object: group }, messages.defaultClassFailed(message));
  }
  const sources = s.sources.value;
  let groupClass: VolumeGroupSnapshotClass | undefined;
  if (hasClass) groupClass = classNamed(s.classes, group.spec?.volumeGroupSnapshotClassName);
  else {
    const chosen = defaultClassFor(s.classes, group, sources);
    if (chosen.kind === 'error') {
      return fail(s, { row: 'G5', object: group }, messages.defaultClassFailed(chosen.message));
    }
    groupClass = chosen.value;
  }
  const plan = planContent({ groupClass, sources, nodes: s.nodes }, group);
  if (plan.kind === 'refused') {
    const events = plan.event === undefined ? [] : [plan.event];
    return fail(s, { row: 'G11', object: group, events }, messages.creationFailed(plan.message));
  }
  const unprepared = prepare(s, group, hasClass ? undefined : groupClass?.metadata?.name);
  if (unprepared !== undefined) return unprepared;
  if (isFailed(s.created)) return failed(updateError(key, s.created.failure.message));
  const { content, warning } = plan;
  return confirm(s, 'G11', group) ?? { row: 'G11', kind: 'createContent', group, content, warning };
}

/** Before the content exists: a group that is deleted right after it must not leave it behind. */
function prepare(s: GroupState, group: VolumeGroupSnapshot, className: string | undefined): Action | undefined {
  if (isFailed(s.prepared)) {
    const { failure } = s.prepared;
    return conclude('G10', retry(failure), messages.finalizerFailed(failure.message));
  }
  const isPrepared = finalizersWith(group, snapshotFinalizers.groupBound) === undefined && className === undefined;
  return isPrepared || s.prepared === 'done' ? undefined : { row: 'G10', kind: 'prepare', group, className };
}

/** No error is reported: each step is repeated until it succeeds. */
function completeMembers({ incomplete, membersSaved }: GroupState): Action | undefined {
  if (isFailed(membersSaved)) return conclude('G15', retry(membersSaved.failure));
  if (incomplete.length === 0 || membersSaved === 'done') return undefined;
  return { row: 'G15', kind: 'saveMembers', members: incomplete };
}

export const boundField = 'boundVolumeGroupSnapshotContentName';

function decideStatus(
  s: GroupState,
  { group, content }: Pair,
  { isComplete, readiness }: Pick<Problem, 'readiness'> & { readonly isComplete: boolean },
): Action {
  if (isFailed(s.statusSaved)) {
    const { failure } = s.statusSaved;
    // Deleted meanwhile: there is nothing left to report it on. Without an answer the status may have been written, and an error would stay.
    if (isNotFound(failure) || !isAnswered(failure)) return conclude('G16', retry(failure));
    const problem = messages.statusFailed(updateError(groupKey(group), failure.message), readiness);
    return fail(s, { row: 'G16', object: group }, problem);
  }
  const { status } = content;
  const facts = {
    readyToUse: status?.readyToUse === true && isComplete,
    creationTime: status?.creationTime,
    error: status?.error,
  };
  const bound = { field: boundField, name: content.metadata?.name ?? '' };
  if (mergedStatus(group.status, facts, bound) === undefined) return conclude('G16', done);
  return { row: 'G16', kind: 'saveStatus', group, content, facts };
}

function decideReady(s: GroupState, group: VolumeGroupSnapshot): Action {
  const { content } = s;
  const unwritten = { outcome: done };
  if (content === undefined) {
    return askContent(s, group, 'G13') ?? fail(s, { row: 'G13', object: group, ...unwritten }, messages.contentMissing);
  }
  if (!isBoundTo(content.spec?.volumeGroupSnapshotRef, group)) {
    const name = content.metadata?.name ?? '';
    return name === expectedContentName(group)
      ? fail(s, { row: 'G8', object: group }, messages.contentMisbound(name))
      : fail(s, { row: 'G17', object: group, ...unwritten }, messages.misbound);
  }
  const unprepared = prepare(s, group, undefined) ?? (isStatic(group) ? undefined : completeMembers(s));
  if (unprepared !== undefined) return unprepared;
  const withoutClass = missingClassOf(s, group);
  // The class is needed by nothing that is still to be done, and its arrival wakes the group.
  if (withoutClass !== undefined) return fail(s, { row: 'G4', object: group, ...unwritten }, withoutClass);
  return conclude('G18', done);
}

/** The cache may be behind. Undefined: the API server has been asked. */
function askContent({ contentAsked }: GroupState, group: VolumeGroupSnapshot, row: string): Action | undefined {
  if (contentAsked === 'unasked') return { row, kind: 'askContent', name: contentNameFor(group) };
  return isFailed(contentAsked) ? conclude(row, retry(contentAsked.failure)) : undefined;
}
