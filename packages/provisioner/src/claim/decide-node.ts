// SPDX-License-Identifier: Apache-2.0
/**
 * The rows of node deployment, C47 to C56: which instance works on a claim. Pure. Without node deployment, and once a claim is this
 * instance's, nothing is decided here.
 */
import type { GetCapacityRequestInput } from '@csi-sidecars/csi';
import { done, requeueAfter, type StorageClass } from '@csi-sidecars/runtime';
import { isKnownProvisioner } from '../driver.ts';
import type { NodeDeployment, ProvisionerSettings } from '../settings.ts';
import { chosenNodeOf, isOurs } from './claim.ts';
import { conclude, fail, isOutstanding } from './conclusions.ts';
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

/** C47 to C50: a volume may exist that only another instance can settle. A second one on this node would be one too many. */
export function whileOtherSettles(s: ClaimState, context: ClaimContext): Action | undefined {
  const { node } = context.settings;
  const { otherInstance: instance } = s;
  if (node === undefined || instance === undefined || s.memory.kind === 'open') return undefined;
  if (s.deletion === undefined) {
    const isWanted = isOurs(s.claim, context.driver.name) && (s.claim.spec?.volumeName ?? '') === '';
    if (!isWanted || isElsewhere(s, context.settings)) return conclude('C47', done);
    // A central deployment left it. The instance that takes the claim settles it.
    if (instance === '') return undefined;
  } else {
    const leftMs = node.patienceMs - s.deletion.forMs;
    if (leftMs > 0) return conclude('C47', requeueAfter(leftMs));
  }
  if (instance !== '') {
    if (s.otherNode === 'unread') return { row: 'C48', kind: 'readNode', name: instance };
    if (s.otherNode !== 'gone') return waitForInstance(s, context, { node, instance });
  }
  return { row: 'C50', kind: 'giveUpOther' };
}

/** C49. The instance that has to provision the claim says why it does not; the others would repeat it. */
function waitForInstance(
  s: ClaimState,
  { driver }: ClaimContext,
  { node, instance }: { readonly node: NodeDeployment; readonly instance: string },
): Action {
  const end = conclude('C49', requeueAfter(node.patienceMs));
  if (s.presence !== 'live' || chosenNodeOf(s.claim) !== node.name) return end;
  const facts = { driverName: driver.name, volumeName: s.volumeName, instance };
  return { ...end, events: [messages.failed(messages.waitsForInstance(facts))] };
}

/** C51 to C56, for a claim without outstanding work. Undefined: this instance provisions it, or reports what is wrong with it. */
export function decideNode(s: ClaimState, context: ClaimContext): Action | undefined {
  const { node } = context.settings;
  if (node === undefined || isOutstanding(s) || chosenNodeOf(s.claim) === node.name) return undefined;
  if (isElsewhere(s, context.settings)) return conclude('C51', done);
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
