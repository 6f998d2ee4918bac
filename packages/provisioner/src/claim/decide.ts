// SPDX-License-Identifier: Apache-2.0
/** Rows C1 to C22: up to CreateVolume. Pure; first match wins. The answer's rows are in `decide-answer.ts`. */
import { done, requeueAfter } from '@csi-sidecars/runtime';
import type { CreateVolumeRequestInput } from '@csi-sidecars/csi';
import { inTreePluginOf } from '@csi-sidecars/volume';
import { isKnownProvisioner } from '../driver.ts';
import { classNameOf } from '../metadata.ts';
import { isOurs, waitsForNode } from './claim.ts';
import { conclude, fail, finishSettled, retryWrite, stop } from './conclusions.ts';
import { toDataSource } from './data-source.ts';
import { decideAnswer } from './decide-answer.ts';
import * as messages from './messages.ts';
import type { Plan } from './plan.ts';
import { type Action, type ClaimContext, type ClaimState, hasSelectedNode, mayProtect } from './state.ts';

export function decide(s: ClaimState, context: ClaimContext): Action {
  return (
    beforeAttempt(s, context) ??
    (s.created === undefined ? towardsCall(s, context) : decideAnswer({ ...s, created: s.created }, context))
  );
}

/** Whether there is anything to attempt. Undefined: yes. */
function beforeAttempt(s: ClaimState, context: ClaimContext): Action | undefined {
  if (s.saved !== undefined || s.created !== undefined) return undefined;
  if (s.unsettled === 'saving')
    return s.protecting === 'untried' && mayProtect(s) ? { kind: 'protect' } : conclude(done); // C1, C2
  if (s.unsettled === 'settled' && s.isProtected) {
    return s.unprotecting === 'untried' ? { kind: 'unprotect' } : retryWrite(s); // C3
  }
  if (s.unsettled === 'pinned') return s.volume.kind === 'own' ? finishSettled(s, stop()) : undefined; // C10
  if (s.presence === 'gone') return conclude(done); // C5
  if (s.isProtected && s.volumeName !== '' && s.claim.spec?.volumeName === s.volumeName) {
    return finishSettled(s, conclude(done)); // C4
  }
  return mustSettle(s, context) ? undefined : needsNothing(s, context);
}

/** Only the finalizer says that something is outstanding, and nobody wants the volume any more. */
function mustSettle(s: ClaimState, { driver }: ClaimContext): boolean {
  if (!s.isProtected || s.unsettled !== 'no') return false;
  return s.presence === 'deleting' || !isOurs(s.claim, driver.name) || (s.claim.spec?.volumeName ?? '') !== '';
}

function needsNothing(s: ClaimState, { driver }: ClaimContext): Action | undefined {
  if (s.infeasibleForMs > 0) return conclude(requeueAfter(s.infeasibleForMs)); // C6
  if ((s.claim.spec?.volumeName ?? '') !== '' || !isOurs(s.claim, driver.name)) return conclude(done); // C7
  if (s.storageClass !== undefined && waitsForNode(s.claim, s.storageClass)) return conclude(done); // C9
  return undefined;
}

function towardsCall(s: ClaimState, context: ClaimContext): Action {
  if (s.unsettled === 'pinned' && s.pinned !== undefined) return repeatCall(s, s.pinned);
  return canPlan(s, context) ?? planned(s, context);
}

/** C8 to C15 */
function canPlan(s: ClaimState, context: ClaimContext): Action | undefined {
  const { storageClass } = s;
  const settles = mustSettle(s, context);
  if (storageClass === undefined) {
    const message = messages.classMissing(classNameOf(s.claim));
    return s.isProtected ? fail(s, message) : { ...fail(s, message), events: [] }; // C8
  }
  if (s.volume.kind === 'own') return finishSettled(s, stop()); // C10
  if (s.volume.kind === 'taken' && !settles) return fail(s, messages.nameTaken(s.volume.name, s.volume.owner)); // C11
  if (!isKnownProvisioner(context.driver.name, storageClass.provisioner)) {
    return s.isProtected ? fail(s, messages.classForeign(classNameOf(s.claim), storageClass.provisioner)) : stop(); // C12
  }
  if (s.announced === 'no') return { kind: 'announce' }; // C13
  const plugin = inTreePluginOf(context.driver.name);
  if (plugin !== undefined && storageClass.provisioner === plugin) {
    return { ...fail(s, messages.unsupportedMigration(plugin)), outcome: done }; // C14
  }
  const source = toDataSource(s.claim, context.settings.features);
  switch (source.kind) {
    case 'refused':
      return fail(s, source.message); // C18
    case 'unsupported':
      return { ...fail(s, messages.unsupportedSource(source.what)), outcome: done }; // C14
    case 'populator':
      return { ...stop(), driverEvents: [messages.populator] }; // C15
    case 'none':
      return undefined;
  }
}

/** C16 to C22, for a first call. */
function planned(s: ClaimState, context: ClaimContext): Action {
  const answer = s.planned;
  if (answer === undefined) return { kind: 'plan', purpose: mustSettle(s, context) ? 'settle' : 'provision' }; // C16
  if (answer.kind === 'nodeGone' && s.presence === 'live' && hasSelectedNode(s)) {
    if (s.rescheduling === 'untried') return { kind: 'reschedule', protection: 'keep' };
    return s.rescheduling === 'done' ? stop(answer.message) : fail(s, answer.message); // C17
  }
  if (answer.kind !== 'planned') return fail(s, answer.message); // C18
  const { plan } = answer;
  const reference = plan.secrets.provisioner;
  if (reference !== undefined) {
    if (s.secrets.kind === 'unread') return { kind: 'readSecret', reference }; // C19
    if (s.secrets.kind !== 'found') return fail(s, s.secrets.message); // C19
  }
  if (plan.attributesClass !== '') {
    if (s.attributes.kind === 'unread') return { kind: 'readAttributesClass', name: plan.attributesClass }; // C20
    if (s.attributes.kind === 'failed') return fail(s, s.attributes.message); // C20
    if (s.attributes.driverName !== context.driver.name) {
      const drivers = { of: s.attributes.driverName, ours: context.driver.name };
      return fail(s, messages.attributesForeign(plan.attributesClass, drivers)); // C20
    }
  }
  const request = toRequest(s, plan);
  return { kind: 'createVolume', request, pinned: { claim: s.claim, plan, request } }; // C22
}

function toRequest(s: ClaimState, plan: Plan): CreateVolumeRequestInput {
  return {
    ...plan.request,
    ...(s.secrets.kind === 'found' ? { secrets: s.secrets.values } : {}),
    ...(s.attributes.kind === 'found' ? { mutable_parameters: s.attributes.parameters } : {}),
  };
}

/** C19, C21, C22 for a call that is repeated: the same arguments, but the secret as it is now. */
function repeatCall(s: ClaimState, pinned: NonNullable<ClaimState['pinned']>): Action {
  if (s.announced === 'no') return { kind: 'announce' }; // C13
  const reference = pinned.plan.secrets.provisioner;
  if (reference !== undefined) {
    if (s.secrets.kind === 'unread') return { kind: 'readSecret', reference }; // C19
    if (s.secrets.kind === 'failed') return fail(s, s.secrets.message); // C19
  }
  if (s.protecting === 'untried' && mayProtect(s)) return { kind: 'protect' }; // C21
  if (s.protecting === 'failed') return retryWrite(s); // C21
  const request = s.secrets.kind === 'found' ? { ...pinned.request, secrets: s.secrets.values } : pinned.request;
  return { kind: 'createVolume', request, pinned: { ...pinned, claim: s.claim, request } }; // C22
}
