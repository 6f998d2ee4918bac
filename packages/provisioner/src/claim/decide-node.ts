// SPDX-License-Identifier: Apache-2.0
/**
 * The rows of node deployment, C47 to C59: which instance works on a claim. Pure. Without node deployment, and once a claim is this
 * instance's, nothing is decided here.
 */
import type { GetCapacityRequestInput } from '@csi-sidecars/csi';
import { done, requeueAfter, type StorageClass } from '@csi-sidecars/runtime';
import { isKnownProvisioner } from '../driver.ts';
import type { NodeDeployment, ProvisionerSettings } from '../settings.ts';
import { isElsewhere as isOnOtherNode } from '../volume/volume.ts';
import { chosenNodeOf, isOurs } from './claim.ts';
import { conclude, fail, finalizerFacts, isOutstanding } from './conclusions.ts';
import * as messages from './messages.ts';
import type { Plan } from './plan.ts';
import type { Action, ClaimContext, ClaimState } from './state.ts';

/** Another node was selected for the claim. */
export function isElsewhere(
  { claim }: Pick<ClaimState, 'claim'>,
  { node }: Pick<ProvisionerSettings, 'node'>,
): boolean {
  const chosen = chosenNodeOf(claim);
  return node !== undefined && chosen !== '' && chosen !== node.name;
}

/**
 * The PersistentVolume is recorded, another node is selected, and the claim is not bound yet: the instance of that node does not keep the
 * PersistentVolumes of this one, and would make a second volume. The finalizer keeps it away.
 */
export function waitsForBinding(s: ClaimState, { settings }: ClaimContext): boolean {
  return s.presence === 'live' && s.isProtected && isElsewhere(s, settings) && (s.claim.spec?.volumeName ?? '') === '';
}

/**
 * C63 is the task of this instance, whatever node is selected and whose finalizer the claim has: other nodes do not see the PersistentVolume. One
 * that all nodes see is the task of the instance that has the claim.
 */
function losesRecordHere({ volume }: ClaimState, { node }: ProvisionerSettings): boolean {
  if (volume.kind !== 'losing' || volume.record.spec?.nodeAffinity === undefined) return false;
  return !isOnOtherNode(volume.record, node);
}

/** A Node is looked for so often while it is gone: one that is away for a moment must not cost its claims. */
export function lookEveryMs({ patienceMs }: Pick<NodeDeployment, 'patienceMs'>): number {
  return Math.round(patienceMs / 5);
}

/** The bound of a deleted claim whose instance does not come back although its Node is there. */
const silentForMs = 60 * 60_000;

/** C47 to C50, C57, C58: a volume may exist that only another instance can settle. A second one on this node would be one too many. */
export function whileOtherSettles(s: ClaimState, context: ClaimContext): Action | undefined {
  const { node } = context.settings;
  const { otherInstance: instance } = s;
  if (node === undefined || instance === undefined || s.memory.kind === 'open') return undefined;
  if (losesRecordHere(s, context.settings)) return undefined;
  if (s.deletion === undefined) {
    const isWanted = isOurs(s.claim, context.driver.name) && (s.claim.spec?.volumeName ?? '') === '';
    if (!isWanted || isElsewhere(s, context.settings)) return conclude('C47', done);
    // A central deployment left it. The instance that takes the claim settles it.
    if (instance === '') return undefined;
  } else {
    // Most are settled by then, and no Node is read for them.
    const leftMs = (instance === '' ? node.patienceMs : lookEveryMs(node)) - s.deletion.forMs;
    if (leftMs > 0) return conclude('C47', requeueAfter(leftMs));
  }
  if (instance === '') return releaseOrKeep(s, context, { node, instance });
  if (s.otherNode === 'unread') return { row: 'C48', kind: 'readNode', name: instance };
  const { presence, goneForMs, waitedForMs } = s.otherNode;
  if (presence === 'gone') {
    const leftMs = node.patienceMs - goneForMs;
    if (leftMs > 0) return conclude('C57', requeueAfter(Math.min(leftMs, lookEveryMs(node))));
    return releaseOrKeep(s, context, { node, instance });
  }
  if (waitedForMs >= silentForMs && !isKept(context)) return { row: 'C50', kind: 'giveUpOther' };
  return waitForInstance(s, context, { node, instance });
}

interface Waiting {
  readonly node: NodeDeployment;
  /** Empty: none is known. */
  readonly instance: string;
}

/** Nothing is released by itself. */
function isKept({ settings }: ClaimContext): boolean {
  return settings.provisioningProtection === 'always';
}

/** C50, C58 */
function releaseOrKeep(s: ClaimState, context: ClaimContext, { node, instance }: Waiting): Action {
  if (!isKept(context)) return { row: 'C50', kind: 'giveUpOther' };
  const message = messages.keptForInstance(finalizerFacts(s, context), instance);
  return { ...conclude('C58', requeueAfter(node.patienceMs)), events: [messages.sharedFailure(s.claim, message)] };
}

/** C49. A claim that was deleted a moment ago is settled by its instance as a rule. */
function waitForInstance(s: ClaimState, context: ClaimContext, { node, instance }: Waiting): Action {
  const end = conclude('C49', requeueAfter(node.patienceMs));
  if (s.deletion !== undefined && s.deletion.forMs < node.patienceMs) return end;
  const message = messages.waitsForInstance({ ...finalizerFacts(s, context), instance });
  return { ...end, events: [messages.sharedFailure(s.claim, message)] };
}

/**
 * C59: an earlier CreateVolume of this instance may have made a volume. The PersistentVolumes of other nodes are not cached, and one of them
 * may be that of the claim, made after this instance's finalizer was removed.
 */
export function beforeRepeat(s: ClaimState, context: ClaimContext): Action | undefined {
  if (context.settings.node === undefined || !isOutstanding(s) || s.volume.kind !== 'none') return undefined;
  if (s.volumeName === '' || s.record === 'read') return undefined;
  if (s.record === 'unread') return { row: 'C59', kind: 'readRecord', name: s.volumeName };
  const message = messages.recordUnread(s.volumeName, s.record.failure);
  return fail(s, context, { row: 'C59', message, answer: undefined });
}

/** C51 to C56, for a claim without outstanding work. Undefined: this instance provisions it, or reports what is wrong with it. */
export function decideNode(s: ClaimState, context: ClaimContext): Action | undefined {
  const { node } = context.settings;
  if (node === undefined || isOutstanding(s) || chosenNodeOf(s.claim) === node.name) return undefined;
  if (isElsewhere(s, context.settings) && !losesRecordHere(s, context.settings)) return conclude('C51', done);
  const { storageClass } = s;
  if (storageClass === undefined || s.volume.kind !== 'none') return undefined;
  return competes(s, context, storageClass)
    ? towardsSelection(s, context, { node, storageClass })
    : conclude('C52', done);
}

function competes(s: ClaimState, { driver, settings }: ClaimContext, storageClass: StorageClass): boolean {
  const bindsNow = storageClass.volumeBindingMode === 'Immediate' && settings.node?.bindsImmediately === true;
  if (!bindsNow || s.presence !== 'live' || !isKnownProvisioner(driver.name, storageClass.provisioner)) return false;
  return s.dataSource.kind !== 'populator' && s.isAllowedHere(storageClass);
}

interface Here {
  readonly node: NodeDeployment;
  readonly storageClass: StorageClass;
}

const afterConflictMs = 50;

/** C53 to C56. The space is asked for as late as possible: all instances would ask their driver. */
function towardsSelection(s: ClaimState, context: ClaimContext, { node, storageClass }: Here): Action {
  if (s.selecting === 'done' || s.selecting === 'gone') return conclude('C56', done);
  if (typeof s.selecting === 'object') {
    const message = messages.notSelected(s.claim, node.name, s.selecting.failure);
    return fail(s, context, { row: 'C56', message, answer: undefined });
  }
  // The next run begins the next wait. One that is over at once must not write again at once.
  if (s.selecting === 'conflict') return conclude('C53', requeueAfter(afterConflictMs));
  if (s.waitMs === undefined) return { row: 'C53', kind: 'startWait' };
  if (s.waitMs > 0) return conclude('C53', requeueAfter(s.waitMs));
  if (s.space === 'short') return conclude('C55', done);
  if (s.space === 'unknown') {
    const answer = s.plan(storageClass, 'provision');
    // What keeps the request from being planned is reported by the instance that takes the claim.
    if (answer.kind === 'planned' && answer.plan.requiredBytes > 0n) {
      return { row: 'C54', kind: 'checkSpace', requests: spaceRequests(answer.plan), bytes: answer.plan.requiredBytes };
    }
  }
  return { row: 'C56', kind: 'selectNode', node: node.name };
}

/** One for each topology that the volume may have. */
function spaceRequests({ request }: Plan): readonly GetCapacityRequestInput[] {
  const { volume_capabilities, parameters, accessibility_requirements: requirement } = request;
  const asked = { volume_capabilities, parameters };
  const places = requirement?.requisite ?? [];
  return places.length === 0 ? [asked] : places.map((place) => ({ ...asked, accessible_topology: place }));
}
