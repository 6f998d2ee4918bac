// SPDX-License-Identifier: Apache-2.0
/**
 * A claim that waits for a volume of this driver, up to a saved PersistentVolume. No claim is forgotten while a volume may exist for it. Rows C1
 * to C64 of the provisioner's page. Pure; what each step does is in `steps.ts`.
 *
 * Not here: the request (`request.ts`), what follows from the answer (`answer.ts`), which instance works on a claim in node deployment
 * (`node.ts`), saving a PersistentVolume that could not be saved at once (`saving/`), deleting volumes (`volume/`).
 */
import {
  concluded,
  done,
  type Flow,
  orEnd,
  perform,
  type PersistentVolume,
  requeueAfter,
  retry,
  type StorageClass,
} from '@csi-sidecars/runtime';
import { toDriverClass } from '@csi-sidecars/volume';
import { type CapacityChange, changedByCreation, notCreated } from '../capacity/change.ts';
import { isKnownProvisioner } from '../driver.ts';
import { classNameOf } from '../metadata.ts';
import { recordDeleted } from '../volume-store/outcome.ts';
import { answered, unusable } from './answer.ts';
import { waitsForNode } from './claim.ts';
import {
  conclude,
  fail,
  finishSettled,
  giveUp,
  protect,
  refused,
  retryWrite,
  settle,
  stayOpen,
  stop,
  unprotect,
} from './conclusions.ts';
import { isCalled, isOutstanding, isOverdue, isWanted, mustSettle, waitsForBinding } from './known.ts';
import type { PinnedRequest } from './memory.ts';
import * as messages from './messages.ts';
import { readRecord, towardsThisNode, whileOtherSettles } from './node.ts';
import { affinityOf } from './persistent-volume.ts';
import { settlerOf } from './protection.ts';
import { requestFor, secretsFor } from './request.ts';
import type { ClaimContext, Concluded, Conclusion, Known, Observed, Row } from './state.ts';
import * as step from './steps.ts';

export function* provision(observed: Observed, context: ClaimContext): Flow<Concluded> {
  const { memory } = observed;
  // A deletion that may still be running is finished before anything else.
  const created = memory.kind === 'pinned' ? memory.pinned.deleting : undefined;
  const s: Known = { ...observed };
  const flow = created === undefined ? lookAfter(s, context) : unusable(s, context, created);
  return { ...(yield* concluded(flow)), known: s, capacity: capacityAfter(s, context) };
}

/** H1 to H4 */
function capacityAfter({ created, claim }: Known, { supportsTopology }: ClaimContext): CapacityChange {
  if (created === undefined) return notCreated;
  if (created.kind !== 'made') return changedByCreation({ kind: 'failed' }, classNameOf(claim));
  const affinity = affinityOf(created.volume, supportsTopology);
  return changedByCreation({ kind: 'made', affinity }, classNameOf(claim));
}

function* lookAfter(s: Known, context: ClaimContext): Flow<Conclusion> {
  const end = yield* beforeAttempt(s, context);
  if (end !== undefined) return end;
  return yield* s.memory.kind === 'pinned' ? repeatCall(s, context, s.memory.pinned) : attempt(s, context);
}

/** The conclusion if there is nothing to attempt; undefined otherwise. */
function* beforeAttempt(s: Known, context: ClaimContext): Flow<Conclusion | undefined> {
  if (s.memory.kind === 'saving') return yield* whileSaving(s, context);
  if (s.memory.kind === 'settled' && s.isProtected) {
    if (s.volume.kind === 'losing') return yield* losing(s, context, s.volume.record);
    if (s.volume.kind === 'own' && waitsForBinding(s, context)) return conclude('C3', done);
    if (!(yield* unprotect(s, 'C3'))) return retryWrite('C3', s, 'remove');
  }
  if (isCalled(s)) {
    const end = yield* withRecord(s, context);
    if (end !== undefined) return end;
  } else if (s.presence === 'gone') return conclude('C5', done);
  if (isOverdue(s, context)) return yield* giveUp(s, context, s.deletion?.answers.at(-1) ?? 'open');
  const ofOther = yield* whileOtherSettles(s, context);
  if (ofOther !== undefined) return ofOther;
  if (yield* readRecord(s, context)) return yield* beforeAttempt(s, context);
  if (s.memory.kind === 'pinned') return undefined;
  const isRecorded = s.volumeName !== '' && s.claim.spec?.volumeName === s.volumeName;
  if (s.isProtected && isRecorded && s.volume.kind !== 'elsewhere') {
    return yield* finishSettled(s, conclude('C4', done));
  }
  return mustSettle(s, context) ? undefined : yield* needsNothing(s, context);
}

const saveBoundMs = 5 * 60_000;
const lookAgainMs = 10_000;

/** C1, C2, C37 */
function* whileSaving(s: Known, context: ClaimContext): Flow<Conclusion> {
  yield* protect(s, context, 'C1');
  if (isOverdue(s, context)) return yield* giveUp(s, context, 'open');
  if (s.deletion === undefined || !s.isProtected || context.settings.provisioningProtection === 'always') {
    return conclude('C2', done);
  }
  return conclude('C2', requeueAfter(Math.max(saveBoundMs - s.deletion.forMs, lookAgainMs)));
}

/** C10, C63: the claim has a PersistentVolume. Undefined: it has none, or one of another node. */
function* withRecord(s: Known, context: ClaimContext): Flow<Conclusion | undefined> {
  if (s.volume.kind === 'losing') return yield* losing(s, context, s.volume.record);
  if (s.volume.kind !== 'own') return undefined;
  if (waitsForBinding(s, context)) {
    yield* settle(s, 'C10');
    return conclude('C10', done);
  }
  const isCounted = s.presence === 'live' && isWanted(s, context);
  return yield* finishSettled(s, isCounted ? stop('C10') : conclude('C10', done));
}

const wasBound: ReadonlySet<string | undefined> = new Set(['Bound', 'Released']);

/**
 * C63, C64: soon the volume has no record. The finalizer and memory take its place, so that it is found again by its name. The phase Bound is
 * written before the claim names the volume, and the PV controller does not come back to that once the volume is being deleted. The cache may
 * not show yet that the claim of a released record is gone.
 */
function* losing(s: Known, context: ClaimContext, record: PersistentVolume): Flow<Conclusion> {
  if (wasBound.has(record.status?.phase) && !s.isClaimRead) {
    const reading = perform('C64', step.readClaim, s, record);
    const changes = yield* orEnd(reading, (failure) => conclude('C64', retry(failure)));
    Object.assign(s, changes, { isClaimRead: true });
    return yield* lookAfter(s, context);
  }
  if (!isCalled(s)) s.memory = yield* perform('C63', step.releaseRequest, s);
  return yield* stayOpen(s, context, { row: 'C63', message: recordDeleted(record), answer: 'open' });
}

function* needsNothing(s: Known, context: ClaimContext): Flow<Conclusion | undefined> {
  if (s.infeasibleForMs > 0) return conclude('C6', requeueAfter(s.infeasibleForMs));
  if (!isWanted(s, context)) return conclude('C7', done);
  if (s.storageClass !== undefined && waitsForNode(s.claim, s.storageClass)) return conclude('C9', done);
  const isAlways = context.settings.provisioningProtection === 'always';
  if (isAlways && s.presence === 'deleting') return conclude('C40', done);
  return yield* towardsThisNode(s, context);
}

/** C8 to C22, C36: a call with a request from the caches. */
function* attempt(s: Known, context: ClaimContext): Flow<Conclusion> {
  // The refusal of the class is over.
  if (s.memory.kind === 'settled') s.memory = { kind: 'none' };
  const { storageClass, isProtected } = s;
  if (storageClass === undefined) {
    const message = messages.classMissing(classNameOf(s.claim));
    const failure = yield* fail(s, context, { row: 'C8', message, answer: 'open' });
    return isProtected ? failure : { ...failure, events: [] };
  }
  const end = (yield* withAnyRecord(s, context)) ?? (yield* unlessClassIsOurs(s, context, storageClass));
  if (end !== undefined) return end;
  const pinned = yield* requestFor(s, context, storageClass);
  return yield* firstCall(s, context, pinned);
}

/** C10, C11, C63 */
function* withAnyRecord(s: Known, context: ClaimContext): Flow<Conclusion | undefined> {
  if (s.volume.kind !== 'taken') return yield* withRecord(s, context);
  return mustSettle(s, context) ? undefined : refused('C11', messages.nameTaken(s.volume.name, s.volume.owner));
}

/** C12 to C15 */
function* unlessClassIsOurs(s: Known, context: ClaimContext, storageClass: StorageClass): Flow<Conclusion | undefined> {
  const refuse = (row: Row, message: string): Flow<Conclusion> => fail(s, context, { row, message, answer: 'open' });
  const { provisioner } = storageClass;
  if (!isKnownProvisioner(context.driver.name, provisioner)) {
    if (!isOutstanding(s)) return stop('C12');
    return yield* refuse('C12', messages.classForeign(classNameOf(s.claim), provisioner));
  }
  if (s.presence !== 'gone') yield* perform('C13', step.announce, s);
  const translated = toDriverClass(storageClass, context.driver.name);
  if (translated.kind === 'error') return yield* refuse('C14', messages.untranslatableClass(translated.message));
  if (s.dataSource.kind === 'refused') return yield* refuse('C18', s.dataSource.message);
  if (s.dataSource.kind !== 'populator') return undefined;
  if (isOutstanding(s)) return yield* refuse('C15', messages.unsupportedPopulator);
  return { ...stop('C15'), driverEvents: [messages.populator] };
}

/** C22, C36 */
function* firstCall(s: Known, context: ClaimContext, pinned: PinnedRequest): Flow<Conclusion> {
  const isFirst = !isOutstanding(s);
  const isOpen = s.memory.kind === 'open';
  const isAlways = context.settings.provisioningProtection === 'always';
  if (isAlways || isOpen) yield* protect(s, context, 'C36');
  Object.assign(s, yield* perform('C22', step.lookAgain, s));
  // Much may have happened while objects were read and the finalizer was written.
  const end = (yield* beforeAttempt(s, context)) ?? (yield* withAnyRecord(s, context));
  if (end !== undefined) return end;
  if (s.protecting === 'failed') return retryWrite('C36', s, 'add');
  if (s.protecting === 'refused' && !isOpen) {
    return refused('C36', messages.unprotectable(context.driver.name));
  }
  // Another instance was faster: the finalizer is its own.
  if (isFirst && typeof settlerOf(s.claim, context) === 'object') return conclude('C47', done);
  // The finalizer is new, so no call of this instance is open.
  if (isFirst && s.volume.kind === 'elsewhere') return yield* finishSettled(s, stop('C10'));
  return yield* call(s, context, { pinned, isFirst });
}

/** C13, C19, C21, C22 for a repeated call: the same arguments, but the current secret. */
function* repeatCall(s: Known, context: ClaimContext, pinned: PinnedRequest): Flow<Conclusion> {
  if (s.presence !== 'gone') yield* perform('C13', step.announce, s);
  const secrets = yield* secretsFor(s, context, pinned.plan);
  yield* protect(s, context, 'C21');
  if (s.protecting === 'failed') return retryWrite('C21', s, 'add');
  const { request: before } = pinned;
  const request = secrets?.kind === 'found' ? { ...before, secrets: secrets.values } : before;
  return yield* call(s, context, { pinned: { ...pinned, request }, isFirst: false });
}

function* call(s: Known, context: ClaimContext, sent: step.Call): Flow<Conclusion> {
  const { created, ...changes } = yield* perform('C22', step.createVolume, s, sent);
  Object.assign(s, changes, { created });
  return yield* answered(s, context, created);
}
