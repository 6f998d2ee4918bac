// SPDX-License-Identifier: Apache-2.0
/**
 * The rows of node deployment, C47 to C59: which instance works on a claim. Pure. Without node deployment, and once a claim is this
 * instance's, nothing is decided here.
 */
import type { GetCapacityRequestInput } from '@csi-sidecars/csi';
import { done, type Flow, orEnd, perform, requeueAfter, type StorageClass } from '@csi-sidecars/runtime';
import { isKnownProvisioner } from '../driver.ts';
import type { NodeDeployment } from '../settings.ts';
import { chosenNodeOf } from './claim.ts';
import { conclude, fail, finalizerFacts, giveUpOther } from './conclusions.ts';
import { lookEveryMs } from './instance-waits.ts';
import { isElsewhere, isOutstanding, isWanted, losesRecordHere } from './known.ts';
import * as messages from './messages.ts';
import type { Plan } from './plan.ts';
import type { ClaimContext, Conclusion, Known } from './state.ts';
import * as step from './steps.ts';

/** The bound of a deleted claim whose instance does not come back although its Node is there. */
const silentForMs = 60 * 60_000;

/** C47 to C50, C57, C58: a volume may exist that only another instance can settle. A second one on this node would be one too many. */
export function* whileOtherSettles(s: Known, context: ClaimContext): Flow<Conclusion | undefined> {
  const { node } = context.settings;
  const { otherInstance: instance, deletion } = s;
  if (node === undefined || instance === undefined || s.memory.kind === 'open' || s.memory.kind === 'pinned') {
    return undefined;
  }
  if (losesRecordHere(s, context.settings)) return undefined;
  if (deletion === undefined) {
    if (!isWanted(s, context) || isElsewhere(s, context.settings)) return conclude('C47', done);
    // A central deployment left it. The instance that takes the claim settles it.
    if (instance === '') return undefined;
  } else {
    // Most are settled by then, and no Node is read for them.
    const leftMs = (instance === '' ? node.patienceMs : lookEveryMs(node)) - deletion.forMs;
    if (leftMs > 0) return conclude('C47', requeueAfter(leftMs));
  }
  const isKept = context.settings.provisioningProtection === 'always';
  const facts = finalizerFacts(s, context);
  if (instance !== '') {
    const look = { name: instance, isDeleted: deletion !== undefined };
    const { presence, goneForMs, waitedForMs } = yield* perform('C48', step.readNode, look);
    if (presence !== 'gone') {
      if (waitedForMs < silentForMs || isKept) return waitForInstance(s, context, { node, instance });
      return yield* giveUpOther(s, messages.instanceSilent(facts, instance));
    }
    const leftMs = node.patienceMs - goneForMs;
    if (leftMs > 0) return conclude('C57', requeueAfter(Math.min(leftMs, lookEveryMs(node))));
  }
  if (!isKept) return yield* giveUpOther(s, messages.instanceGone(facts, instance));
  const event = messages.sharedFailure(s.claim, messages.keptForInstance(facts, instance));
  return { ...conclude('C58', requeueAfter(node.patienceMs)), events: [event] };
}

interface Waiting {
  readonly node: NodeDeployment;
  readonly instance: string;
}

/** C49. A claim that was deleted a moment ago is settled by its instance as a rule. */
function waitForInstance(s: Known, context: ClaimContext, { node, instance }: Waiting): Conclusion {
  const end = conclude('C49', requeueAfter(node.patienceMs));
  if (s.deletion !== undefined && s.deletion.forMs < node.patienceMs) return end;
  const message = messages.waitsForInstance({ ...finalizerFacts(s, context), instance });
  return { ...end, events: [messages.sharedFailure(s.claim, message)] };
}

/**
 * C59: an earlier CreateVolume of this instance may have made a volume. The PersistentVolumes of other nodes are not cached, and one of them
 * may be that of the claim, made after this instance's finalizer was removed. Returns whether it was read.
 */
export function* readRecord(s: Known, context: ClaimContext): Flow<boolean> {
  const isUnread = s.volumeName !== '' && s.volume.kind === 'none' && !s.isRecordRead;
  if (context.settings.node === undefined || !isOutstanding(s) || !isUnread) return false;
  const changes = yield* orEnd(perform('C59', step.readRecord, s), (failure) => {
    const message = messages.recordUnread(s.volumeName, failure.message);
    return fail(s, context, { row: 'C59', message });
  });
  Object.assign(s, changes, { isRecordRead: true });
  return true;
}

/** C51 to C56, for a claim without outstanding work. Undefined: this instance provisions it, or reports what is wrong with it. */
export function* towardsThisNode(s: Known, context: ClaimContext): Flow<Conclusion | undefined> {
  const { node } = context.settings;
  if (node === undefined || isOutstanding(s) || chosenNodeOf(s.claim) === node.name) return undefined;
  if (isElsewhere(s, context.settings) && !losesRecordHere(s, context.settings)) return conclude('C51', done);
  const { storageClass } = s;
  if (storageClass === undefined || s.volume.kind !== 'none') return undefined;
  const here = { node, storageClass };
  return competes(s, context, here) ? yield* takeForNode(s, context, here) : conclude('C52', done);
}

function competes(s: Known, { driver }: ClaimContext, { node, storageClass }: Here): boolean {
  const bindsNow = storageClass.volumeBindingMode === 'Immediate' && node.bindsImmediately;
  if (!bindsNow || s.presence !== 'live' || !isKnownProvisioner(driver.name, storageClass.provisioner)) return false;
  return s.dataSource.kind !== 'populator' && s.isAllowedHere(storageClass);
}

interface Here {
  readonly node: NodeDeployment;
  readonly storageClass: StorageClass;
}

const afterConflictMs = 50;

/** C53 to C56. The space is asked for as late as possible: all instances would ask their driver. */
function* takeForNode(s: Known, context: ClaimContext, { node, storageClass }: Here): Flow<Conclusion> {
  const leftMs = s.waitMs ?? (yield* perform('C53', step.startWait));
  if (leftMs > 0) return conclude('C53', requeueAfter(leftMs));
  const answer = s.plan(storageClass, 'provision');
  // What keeps the request from being planned is reported by the instance that takes the claim.
  if (answer.kind === 'planned' && answer.plan.requiredBytes > 0n) {
    const space = yield* perform('C54', step.checkSpace, spaceRequests(answer.plan), answer.plan.requiredBytes);
    if (space === 'short') return conclude('C55', done);
  }
  const selected = yield* orEnd(perform('C56', step.selectNode, node.name), (failure) => {
    const message = messages.notSelected(s.claim, node.name, failure.message);
    return fail(s, context, { row: 'C56', message });
  });
  // The next run begins the next wait. One that is over at once must not write again at once.
  return selected === 'conflict' ? conclude('C53', requeueAfter(afterConflictMs)) : conclude('C56', done);
}

/** One for each topology that the volume may have. */
function spaceRequests({ request }: Plan): readonly GetCapacityRequestInput[] {
  const { volume_capabilities, parameters, accessibility_requirements: requirement } = request;
  const asked = { volume_capabilities, parameters };
  const places = requirement?.requisite ?? [];
  return places.length === 0 ? [asked] : places.map((place) => ({ ...asked, accessible_topology: place }));
}
