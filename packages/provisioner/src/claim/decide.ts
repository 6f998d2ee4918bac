// SPDX-License-Identifier: Apache-2.0
/** The claim table up to CreateVolume. Pure; first match wins. The rows of the answer are in `decide-answer.ts`. */
import { done, type PersistentVolume, requeueAfter, retry, type StorageClass } from '@csi-sidecars/runtime';
import type { CreateVolumeRequestInput, VolumeContentSourceInput } from '@csi-sidecars/csi';
import { toDriverClass } from '@csi-sidecars/volume';
import { type CapacityChange, changedByCreation, notCreated } from '../capacity/change.ts';
import { isKnownProvisioner } from '../driver.ts';
import { classNameOf } from '../metadata.ts';
import { recordDeleted } from '../saving/outcome.ts';
import { hasSelectedNode, isOurs, waitsForNode } from './claim.ts';
import {
  conclude,
  fail,
  finishSettled,
  givenUp,
  isOutstanding,
  isOverdue,
  retryWrite,
  settleUntilBound,
  stop,
} from './conclusions.ts';
import { decideAnswer, stayOpen } from './decide-answer.ts';
import { beforeRepeat, decideNode, isElsewhere, waitsForBinding, whileOtherSettles } from './decide-node.ts';
import { contentOf, decideSource } from './decide-source.ts';
import type { Pinned } from './memory.ts';
import * as messages from './messages.ts';
import { affinityOf } from './persistent-volume.ts';
import type { Plan, PlanAnswer } from './plan.ts';
import { mayProtect, settlerOf } from './protection.ts';
import type { Action, ClaimContext, ClaimState, Row } from './state.ts';

export function decide(s: ClaimState, context: ClaimContext): Action {
  const action = decideRow(s, context);
  return action.kind === 'conclude' ? { ...action, capacity: capacityAfter(s, context) } : action;
}

/** H1 to H4 */
function capacityAfter({ created, claim }: ClaimState, { supportsTopology }: ClaimContext): CapacityChange {
  if (created === undefined) return notCreated;
  if (created.kind !== 'made') return changedByCreation({ kind: 'failed' }, classNameOf(claim));
  const affinity = affinityOf(created.volume, supportsTopology);
  return changedByCreation({ kind: 'made', affinity }, classNameOf(claim));
}

function decideRow(s: ClaimState, context: ClaimContext): Action {
  if (s.givingUp !== 'untried') return givenUp(s, context); // C37, C38
  if (s.created !== undefined) return decideAnswer({ ...s, created: s.created }, context);
  if (s.rescheduling !== 'untried') return planned(s, context); // C17
  return beforeAttempt(s, context) ?? towardsCall(s, context);
}

/** The conclusion if there is nothing to attempt; undefined otherwise. */
function beforeAttempt(s: ClaimState, context: ClaimContext): Action | undefined {
  const { memory } = s;
  if (memory.kind === 'saving') return whileSaving(s, context);
  if (memory.kind === 'settled' && s.isProtected) {
    if (s.volume.kind === 'losing') return losing(s, context, s.volume.record);
    if (s.volume.kind === 'own' && waitsForBinding(s, context)) return conclude('C3', done);
    return s.unprotecting === 'untried' ? { row: 'C3', kind: 'unprotect' } : retryWrite('C3', s, 'remove');
  }
  if (memory.kind === 'pinned' || memory.kind === 'open') {
    if (s.volume.kind === 'own') return recorded(s, context);
    if (s.volume.kind === 'losing') return losing(s, context, s.volume.record);
  } else if (s.presence === 'gone') return conclude('C5', done);
  if (isOverdue(s, context)) return { row: 'C37', kind: 'giveUp', answer: s.deletion?.answers.at(-1) ?? 'open' };
  const ofOther = memory.kind === 'pinned' ? undefined : whileOtherSettles(s, context);
  if (ofOther !== undefined) return ofOther;
  const unread = beforeRepeat(s, context);
  if (unread !== undefined) return unread;
  if (memory.kind === 'pinned') return undefined;
  const isRecorded = s.volumeName !== '' && s.claim.spec?.volumeName === s.volumeName;
  if (s.isProtected && isRecorded && s.volume.kind !== 'elsewhere') {
    return finishSettled(s, conclude('C4', done));
  }
  return mustSettle(s, context) ? undefined : needsNothing(s, context);
}

/** C10 */
function recorded(s: ClaimState, context: ClaimContext): Action {
  return waitsForBinding(s, context) ? settleUntilBound(s, stop('C10')) : finishSettled(s, stop('C10'));
}

const wasBound: ReadonlySet<string | undefined> = new Set(['Bound', 'Released']);

/**
 * C63, C64: soon the volume has no record. The finalizer and memory take its place, so that it is found again by its name. The phase Bound is
 * written before the claim names the volume, and the PV controller does not come back to that once the volume is being deleted. The cache may
 * not show yet that the claim of a released record is gone.
 */
function losing(s: ClaimState, context: ClaimContext, record: PersistentVolume): Action {
  if (typeof s.reread === 'object') return conclude('C64', retry(s.reread.failure));
  if (wasBound.has(record.status?.phase) && s.reread === 'unread') return { row: 'C64', kind: 'readClaim', record };
  const isRemembered = s.memory.kind === 'pinned' || s.memory.kind === 'open';
  if (!isRemembered) return { row: 'C63', kind: 'releaseRequest' };
  return stayOpen(s, context, { row: 'C63', message: recordDeleted(record), answer: 'open' });
}

const saveBoundMs = 5 * 60_000;
const lookAgainMs = 10_000;

/** C1, C2, C37 */
function whileSaving(s: ClaimState, context: ClaimContext): Action {
  if (s.protecting === 'untried' && mayProtect(s, context)) return { row: 'C1', kind: 'protect' };
  if (isOverdue(s, context)) return { row: 'C37', kind: 'giveUp', answer: 'open' };
  if (s.deletion === undefined || !s.isProtected || context.settings.provisioningProtection === 'always') {
    return conclude('C2', done);
  }
  return conclude('C2', requeueAfter(Math.max(saveBoundMs - s.deletion.forMs, lookAgainMs)));
}

/** A volume may exist, no request is pinned, and a volume is no longer wanted. */
function mustSettle(s: ClaimState, { driver, settings }: ClaimContext): boolean {
  if (!isOutstanding(s) || s.memory.kind === 'pinned') return false;
  const isWanted = isOurs(s.claim, driver.name) && (s.claim.spec?.volumeName ?? '') === '';
  return s.presence !== 'live' || !isWanted || isElsewhere(s, settings) || s.volume.kind === 'elsewhere';
}

function needsNothing(s: ClaimState, context: ClaimContext): Action | undefined {
  const { driver, settings } = context;
  if (s.infeasibleForMs > 0) return conclude('C6', requeueAfter(s.infeasibleForMs));
  if ((s.claim.spec?.volumeName ?? '') !== '' || !isOurs(s.claim, driver.name)) return conclude('C7', done);
  if (s.storageClass !== undefined && waitsForNode(s.claim, s.storageClass)) return conclude('C9', done);
  if (settings.provisioningProtection === 'always' && s.presence === 'deleting') return conclude('C40', done);
  return decideNode(s, context);
}

function towardsCall(s: ClaimState, context: ClaimContext): Action {
  if (s.memory.kind === 'pinned') return repeatCall(s, context, s.memory.pinned);
  return canPlan(s, context) ?? planned(s, context);
}

/** C8 to C15 */
function canPlan(s: ClaimState, context: ClaimContext): Action | undefined {
  const { storageClass } = s;
  const className = classNameOf(s.claim);
  const refuse = (row: Row, message: string): Action => fail(s, context, { row, message, answer: 'open' });
  if (storageClass === undefined) {
    const failure = refuse('C8', messages.classMissing(className));
    return failure.kind === 'conclude' && !s.isProtected ? { ...failure, events: [] } : failure;
  }
  if (s.volume.kind === 'own') return recorded(s, context);
  if (s.volume.kind === 'losing') return losing(s, context, s.volume.record);
  if (s.volume.kind === 'taken' && !mustSettle(s, context)) {
    return refuse('C11', messages.nameTaken(s.volume.name, s.volume.owner));
  }
  if (!isKnownProvisioner(context.driver.name, storageClass.provisioner)) {
    return isOutstanding(s) ? refuse('C12', messages.classForeign(className, storageClass.provisioner)) : stop('C12');
  }
  if (s.announced === 'no' && s.presence !== 'gone') return { row: 'C13', kind: 'announce' };
  const translated = toDriverClass(storageClass, context.driver.name);
  if (translated.kind === 'error') return refuse('C14', messages.untranslatableClass(translated.message));
  switch (s.dataSource.kind) {
    case 'refused':
      return refuse('C18', s.dataSource.message);
    case 'populator':
      if (isOutstanding(s)) return refuse('C15', messages.unsupportedPopulator);
      return { ...stop('C15'), driverEvents: [messages.populator] };
    case 'none':
    case 'source':
      return undefined;
  }
}

/** C16 to C22, C36, C42 to C46: a call with a request from the caches. */
function planned(s: ClaimState, context: ClaimContext): Action {
  const { storageClass } = s;
  if (storageClass === undefined) throw new Error('a claim without a class was to be planned');
  return decideSource(s, context, storageClass) ?? withSource(s, context, storageClass);
}

/** The source, if there is one, is protected. */
function withSource(s: ClaimState, context: ClaimContext, storageClass: StorageClass): Action {
  const answer: PlanAnswer = s.plan(storageClass, mustSettle(s, context) ? 'settle' : 'provision'); // C16
  if (answer.kind === 'nodeGone' && s.presence === 'live') {
    const failure = { row: 'C17', message: answer.message, answer: 'open' } as const;
    if (s.rescheduling === 'done') return stop('C17', answer.message);
    if (s.rescheduling !== 'untried') return fail(s, context, failure);
    if (hasSelectedNode(s.claim)) return { row: 'C17', kind: 'reschedule', protection: 'keep' };
  }
  if (answer.kind !== 'planned') return fail(s, context, { row: 'C18', message: answer.message, answer: 'open' });
  const { plan } = answer;
  return readFirst(s, context, plan) ?? firstCall(s, context, { plan, content: contentOf(s, context, storageClass) });
}

/** C19, C20: reads of objects that are not cached. Undefined once all are read. */
function readFirst(s: ClaimState, context: ClaimContext, plan: Plan): Action | undefined {
  const refuse = (row: Row, message: string): Action => fail(s, context, { row, message, answer: 'open' });
  const reference = plan.secrets.provisioner;
  if (reference !== undefined) {
    if (s.secrets.kind === 'unread') return { row: 'C19', kind: 'readSecret', reference };
    if (s.secrets.kind !== 'found') return refuse('C19', s.secrets.message);
  }
  if (plan.attributesClass === '') return undefined;
  if (s.attributes.kind === 'unread') return { row: 'C20', kind: 'readAttributesClass', name: plan.attributesClass };
  if (s.attributes.kind === 'failed') return refuse('C20', s.attributes.message);
  const drivers = { of: s.attributes.driverName, ours: context.driver.name };
  return drivers.of === drivers.ours
    ? undefined
    : refuse('C20', messages.attributesForeign(plan.attributesClass, drivers));
}

interface Planned {
  readonly plan: Plan;
  readonly content: VolumeContentSourceInput | undefined;
}

function firstCall(s: ClaimState, context: ClaimContext, { plan, content }: Planned): Action {
  const wasOutstanding = isOutstanding(s) && s.protecting !== 'done';
  const isOpen = s.memory.kind === 'open';
  const isFirst = !wasOutstanding && !isOpen;
  if (context.settings.provisioningProtection === 'always' || isOpen) {
    if (s.protecting === 'untried' && mayProtect(s, context)) return { row: 'C36', kind: 'protect' };
    if (s.protecting === 'failed') return retryWrite('C36', s, 'add');
    if (s.protecting === 'refused' && !isOpen) {
      return fail(s, context, { row: 'C36', message: messages.unprotectable(context.driver.name), answer: 'open' });
    }
  }
  // Another instance was faster: the finalizer is its own.
  if (isFirst && typeof settlerOf(s.claim, context) === 'object') return conclude('C47', done);
  // The finalizer is new, so no call of this instance is open.
  if (s.volume.kind === 'elsewhere' && isFirst) return finishSettled(s, stop('C10'));
  const request = toRequest(s, { plan, content });
  const isConfirmed = s.dataSource.kind === 'source' && s.dataSource.isConfirmed;
  const pinned = { plan, request, isConfirmed };
  return { row: 'C22', kind: 'createVolume', request, pinned, isFirst };
}

function toRequest(s: ClaimState, { plan, content }: Planned): CreateVolumeRequestInput {
  return {
    ...plan.request,
    ...(content === undefined ? {} : { volume_content_source: content }),
    ...(s.secrets.kind === 'found' ? { secrets: s.secrets.values } : {}),
    ...(s.attributes.kind === 'found' ? { mutable_parameters: s.attributes.parameters } : {}),
  };
}

/** C19, C21, C22 for a repeated call: the same arguments, but the current secret. */
function repeatCall(s: ClaimState, context: ClaimContext, pinned: Pinned): Action {
  if (s.announced === 'no' && s.presence !== 'gone') return { row: 'C13', kind: 'announce' };
  const reference = pinned.plan.secrets.provisioner;
  if (reference !== undefined) {
    if (s.secrets.kind === 'unread') return { row: 'C19', kind: 'readSecret', reference };
    if (s.secrets.kind === 'failed') {
      return fail(s, context, { row: 'C19', message: s.secrets.message, answer: 'open' });
    }
  }
  if (s.protecting === 'untried' && mayProtect(s, context)) return { row: 'C21', kind: 'protect' };
  if (s.protecting === 'failed') return retryWrite('C21', s, 'add');
  const request = s.secrets.kind === 'found' ? { ...pinned.request, secrets: s.secrets.values } : pinned.request;
  return { row: 'C22', kind: 'createVolume', request, pinned: { ...pinned, request }, isFirst: false };
}
