// SPDX-License-Identifier: Apache-2.0
/** Rows S1 to S21. Pure; first match wins. The rows of a deletion are in `decide-deletion.ts`. */
import {
  done,
  finalizersWith,
  isFailed,
  isNotFound,
  type Outcome,
  postpone,
  requeueAfter,
  retry,
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
import { conclude, fail } from '../conclusions.ts';
import { confirm } from '../confirm.ts';
import { groupOwnerOf } from '../membership.ts';
import type { Problem } from '../save-error.ts';
import type { SnapshotControllerSettings } from '../settings.ts';
import { isBound, unboundClaim } from '../source-volume.ts';
import { int64, mergedStatus, timeOf } from '../status.ts';
import { isAnswered, updateError } from '../update-error.ts';
import { withClaimRelease } from './conclude.ts';
import { decideDeletion } from './decide-deletion.ts';
import { defaultClassFor, driverOf, missingClassOf } from './default-class.ts';
import * as messages from './messages.ts';
import { planContent } from './plan-content.ts';
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
import type { Action, SnapshotState } from './state.ts';

export type DecideSettings = Pick<SnapshotControllerSettings, 'recordVolumeMode' | 'groups'>;

/** Both a snapshot and its content. */
interface Pair {
  readonly snapshot: VolumeSnapshot;
  readonly content: VolumeSnapshotContent;
}

/** A release of the claim takes two requests. */
const afterReleaseMs = 50;

export function decide(s: SnapshotState, settings: DecideSettings): Action {
  const { snapshot } = s;
  if (snapshot === undefined) return conclude('S1', done);
  if (isDeleting(snapshot)) return decideDeletion(s, snapshot);
  const { persistentVolumeClaimName, volumeSnapshotContentName } = snapshot.spec?.source ?? {};
  if ((persistentVolumeClaimName === undefined) === (volumeSnapshotContentName === undefined)) {
    return fail(s, { row: 'S2', object: snapshot }, messages.invalidSource);
  }
  if (s.statusSaved === 'done') return conclude('S17', done);
  if (isReady(snapshot)) return withClaimRelease(s, decideReady(s, snapshot, settings));
  return decideUnready(s, snapshot, settings);
}

function decideUnready(s: SnapshotState, snapshot: VolumeSnapshot, settings: DecideSettings): Action {
  const withoutClass = missingClassOf(s, snapshot);
  // A snapshot that has its content needs no class any more.
  if (withoutClass !== undefined && !isBoundTo(s.content?.spec?.volumeSnapshotRef, snapshot)) {
    return fail(s, { row: 'S4', object: snapshot }, withoutClass);
  }
  switch (originOf(snapshot)) {
    case 'static':
      return decideStatic(s, snapshot, settings);
    case 'member':
      return decideMember(s, snapshot, settings);
    case 'dynamic':
      return decideDynamic(s, snapshot, settings);
  }
}

function decideStatic(s: SnapshotState, snapshot: VolumeSnapshot, settings: DecideSettings): Action {
  const { content } = s;
  if (expectedContentName(snapshot) === '') {
    return conclude('S6', retry(new Error(`empty VolumeSnapshotContentName for snapshot ${snapshotKey(snapshot)}`)));
  }
  if (content !== undefined && content.spec?.source?.snapshotHandle === undefined) {
    return fail(s, { row: 'S7', object: snapshot }, messages.contentNotStatic);
  }
  if (content !== undefined && !mayBindTo(content.spec?.volumeSnapshotRef, snapshot)) {
    return fail(s, { row: 'S8', object: snapshot }, messages.contentMisbound(content.metadata?.name ?? ''));
  }
  const unprepared = prepare(s, snapshot, { policy: content?.spec?.deletionPolicy }) ?? begin(s, snapshot);
  if (unprepared !== undefined) return unprepared;
  if (content === undefined) return fail(s, { row: 'S14', object: snapshot }, messages.contentMissing);
  if (isFailed(s.bound)) return fail(s, { row: 'S15', object: snapshot }, messages.bindFailed(s.bound.failure.message));
  if (s.bound === 'untried' && !isBindingComplete({ snapshot, content })) {
    return confirm(s, 'S15', snapshot) ?? { row: 'S15', kind: 'bind', snapshot, content };
  }
  return decideStatus(s, { snapshot, content }, { ...settings, readiness: 'kept' });
}

/** The content refers to the snapshot, and names its class if it has one. A class that the content has already stays. */
function isBindingComplete({ snapshot, content }: Pair): boolean {
  const { volumeSnapshotRef, volumeSnapshotClassName } = content.spec ?? {};
  const needsClass = snapshot.spec?.volumeSnapshotClassName !== undefined && volumeSnapshotClassName === undefined;
  return isBoundTo(volumeSnapshotRef, snapshot) && !needsClass;
}

/** Its group makes the content. No error is reported: the group reports its own. */
function decideMember(s: SnapshotState, snapshot: VolumeSnapshot, settings: DecideSettings): Action {
  const unprepared = prepare(s, snapshot, { policy: undefined }) ?? begin(s, snapshot);
  if (unprepared !== undefined) return unprepared;
  const { content } = s;
  const key = snapshotKey(snapshot);
  // A content that this loop made for the snapshot, before it became a member, waits for no group.
  const isMade =
    snapshot.status?.boundVolumeSnapshotContentName !== undefined ||
    content?.metadata?.name === contentNameOf(snapshot.metadata?.uid ?? '');
  if (!isMade || content === undefined) {
    return conclude('S13', postpone(`the group of snapshot ${key} has not made its content yet`));
  }
  if (!isBoundTo(content.spec?.volumeSnapshotRef, snapshot)) {
    return fail(s, { row: 'S8', object: snapshot }, messages.contentMisbound(content.metadata?.name ?? ''));
  }
  return decideStatus(s, { snapshot, content }, { ...settings, readiness: 'kept' });
}

function decideDynamic(s: SnapshotState, snapshot: VolumeSnapshot, settings: DecideSettings): Action {
  const { content } = s;
  if (content !== undefined) {
    const name = content.metadata?.name ?? '';
    const { volumeHandle, snapshotHandle } = content.spec?.source ?? {};
    if (volumeHandle === undefined) return fail(s, { row: 'S7', object: snapshot }, messages.contentNotDynamic(name));
    if (!isBoundTo(content.spec?.volumeSnapshotRef, snapshot)) {
      return fail(s, { row: 'S8', object: snapshot }, messages.contentMisbound(name));
    }
    if (snapshotHandle !== undefined) {
      return fail(s, { row: 'S9', object: snapshot }, messages.handleSet(snapshotKey(snapshot)));
    }
  }
  // Without a content, what the class says now is what the content will say.
  let snapshotClass = classNamed(s.classes, snapshot.spec?.volumeSnapshotClassName);
  let className: string | undefined;
  if (snapshot.spec?.volumeSnapshotClassName === undefined) {
    const chosen = defaultClassFor(s, snapshot);
    if (chosen.kind === 'error')
      return fail(s, { row: 'S5', object: snapshot }, messages.defaultClassFailed(chosen.message));
    snapshotClass = chosen.value;
    className = snapshotClass.metadata?.name;
  }
  const policy = content === undefined ? snapshotClass?.deletionPolicy : content.spec?.deletionPolicy;
  const unprepared = prepare(s, snapshot, { policy, className }) ?? begin(s, snapshot);
  if (unprepared !== undefined) return unprepared;
  if (content === undefined) return decideCreation(s, snapshot, settings);
  const readiness = s.created === 'done' ? 'kept' : 'notReady';
  return decideStatus(s, { snapshot, content }, { ...settings, readiness });
}

/** Finalizers and class in one write, before anything that relies on them. */
function prepare(
  s: SnapshotState,
  snapshot: VolumeSnapshot,
  { policy, className }: { readonly policy: string | undefined; readonly className?: string | undefined },
): Action | undefined {
  if (isFailed(s.prepared)) {
    const { failure } = s.prepared;
    return conclude('S10', retry(failure), messages.finalizerFailed(failure.message));
  }
  const finalizers = [snapshotFinalizers.asSource, ...(policy === 'Delete' ? [snapshotFinalizers.bound] : [])];
  const isPrepared = finalizersWith(snapshot, ...finalizers) === undefined && className === undefined;
  if (isPrepared || s.prepared === 'done') return undefined;
  return { row: 'S10', kind: 'prepare', snapshot, preparation: { finalizers, className } };
}

/** Only what can go on is counted: a snapshot without its class or its finalizers is not begun. */
function begin(s: SnapshotState, snapshot: VolumeSnapshot): Action | undefined {
  if (s.isBegun) return undefined;
  const isCreated = snapshot.status?.creationTime !== undefined;
  const operations = [...(isCreated ? [] : (['CreateSnapshot'] as const)), 'CreateSnapshotAndReady'] as const;
  return { row: 'S3', kind: 'begin', operations, driver: driverOf(s, snapshot) };
}

function decideCreation(s: SnapshotState, snapshot: VolumeSnapshot, settings: DecideSettings): Action {
  const { claim } = s;
  const name = snapshot.metadata?.name ?? '';
  const failed = (cause: string): Action => fail(s, { row: 'S12', object: snapshot }, messages.creationFailed(cause));
  if (wasCut(snapshot, messages.contentMissingMessage)) {
    return askContent(s, snapshot, 'S11') ?? fail(s, { row: 'S11', object: snapshot }, messages.contentMissing);
  }
  if (claim === undefined) return failed(updateError(name, 'cannot get claim from snapshot'));
  if (s.isClaimBeingReleased) return conclude('S12', requeueAfter(afterReleaseMs));
  if (isFailed(s.claimProtected)) {
    return failed(updateError(claim.metadata?.name ?? '', s.claimProtected.failure.message));
  }
  if (!isProtected(claim)) {
    if (s.claimProtected === 'done') {
      return conclude('S12', retry(new Error(`claim ${claim.metadata?.name} lost the finalizer that it was given`)));
    }
    if (isDeleting(claim)) {
      const cause = 'cannot add finalizer on claim because it is being deleted';
      return failed(updateError(claim.metadata?.name ?? '', cause));
    }
    // Nothing is cut of it yet. With our finalizer, one that is deleted now would stay until somebody deletes the snapshot.
    if (!isBound(claim)) return failed(messages.noInput(name, unboundClaim(claim, 'snapshot')));
    return confirm(s, 'S12', snapshot) ?? { row: 'S12', kind: 'protectClaim', claim };
  }
  const content = planContent(s, snapshot, settings);
  if (content.kind === 'error') return failed(content.message);
  if (isFailed(s.created)) return failed(updateError(snapshotKey(snapshot), s.created.failure.message));
  return confirm(s, 'S12', snapshot) ?? { row: 'S12', kind: 'createContent', snapshot, content: content.value };
}

function decideStatus(
  s: SnapshotState,
  { snapshot, content }: Pair,
  { groups, readiness }: DecideSettings & Pick<Problem, 'readiness'>,
): Action {
  const failed = (cause: string): Action =>
    fail(s, { row: 'S16', object: snapshot }, messages.statusFailed(cause, readiness));
  const { status } = content;
  const isInGroup = (status?.volumeGroupSnapshotHandle ?? '') !== '';
  if (isInGroup && groups && s.contentGroup === undefined) {
    return failed(messages.groupNotFound(snapshotKey(snapshot)));
  }
  if (isFailed(s.statusSaved)) {
    const { failure } = s.statusSaved;
    // Deleted meanwhile: there is nothing left to report it on. Without an answer the status may have been written, and an error would stay.
    if (isNotFound(failure) || !isAnswered(failure)) return conclude('S16', retry(failure));
    return failed(updateError(snapshotKey(snapshot), failure.message));
  }
  const facts = {
    readyToUse: status?.readyToUse === true,
    creationTime: timeOf(status?.creationTime),
    restoreSize: int64(status?.restoreSize),
    error: status?.error,
    // A name without a namespace: that of a group elsewhere would be the name of another group here.
    groupName: s.contentGroup?.namespace === snapshot.metadata?.namespace ? s.contentGroup?.name : undefined,
  };
  const bound = { field: boundField, name: content.metadata?.name ?? '' };
  if (mergedStatus(snapshot.status, facts, bound) === undefined) return conclude('S17', done);
  return { row: 'S16', kind: 'saveStatus', snapshot, content, facts };
}

export const boundField = 'boundVolumeSnapshotContentName';

function decideReady(s: SnapshotState, snapshot: VolumeSnapshot, settings: DecideSettings): Action {
  const { content, claim } = s;
  if (claim !== undefined && isProtected(claim) && !s.isClaimInUse && s.claimReleased === 'untried') {
    return { row: 'S18', kind: 'releaseClaim', claim, snapshot };
  }
  const unwritten: { readonly outcome: Outcome } = { outcome: done };
  if (content === undefined) {
    return (
      askContent(s, snapshot, 'S14') ?? fail(s, { row: 'S14', object: snapshot, ...unwritten }, messages.contentMissing)
    );
  }
  if (!isBoundTo(content.spec?.volumeSnapshotRef, snapshot)) {
    const name = content.metadata?.name ?? '';
    // A static content that was made again belongs to none yet, and is bound when the snapshot is not ready any more.
    const isFree = originOf(snapshot) === 'static' && mayBindTo(content.spec?.volumeSnapshotRef, snapshot);
    return name === expectedContentName(snapshot) && !isFree
      ? fail(s, { row: 'S8', object: snapshot }, messages.contentMisbound(name))
      : fail(s, { row: 'S19', object: snapshot, ...unwritten }, messages.misbound);
  }
  const policy = originOf(snapshot) === 'member' ? undefined : content.spec?.deletionPolicy;
  const unprepared = prepare(s, snapshot, { policy });
  if (unprepared !== undefined) return unprepared;
  const unowned = adopt(s, snapshot, settings);
  if (unowned !== undefined) return unowned;
  const withoutClass = missingClassOf(s, snapshot);
  // The class is needed by nothing that is still to be done, and its arrival wakes the snapshot.
  if (withoutClass !== undefined) return fail(s, { row: 'S4', object: snapshot, ...unwritten }, withoutClass);
  return conclude('S21', done);
}

/** The cache may be behind. Undefined: the API server has been asked. */
function askContent({ contentAsked }: SnapshotState, snapshot: VolumeSnapshot, row: string): Action | undefined {
  if (contentAsked === 'unasked') return { row, kind: 'askContent', name: contentNameFor(snapshot) };
  return isFailed(contentAsked) ? conclude(row, retry(contentAsked.failure)) : undefined;
}

/** A member of a group that an administrator made gets its owner when it is ready, so that the deletion of the group finds it. */
function adopt(s: SnapshotState, snapshot: VolumeSnapshot, { groups }: DecideSettings): Action | undefined {
  const name = snapshot.status?.volumeGroupSnapshotName ?? '';
  if (!groups || name === '' || s.group === 'none' || groupOwnerOf(snapshot) !== undefined) return undefined;
  if (isFailed(s.adopted)) return conclude('S20', retry(s.adopted.failure));
  if (s.adopted === 'done') return undefined;
  if (typeof s.group === 'string') {
    const cause = `volumegroupsnapshot.groupsnapshot.storage.k8s.io ${JSON.stringify(name)} not found`;
    return conclude('S20', retry(new Error(cause)));
  }
  return { row: 'S20', kind: 'adopt', snapshot, group: s.group };
}
