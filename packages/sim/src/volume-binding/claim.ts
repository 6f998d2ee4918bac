// SPDX-License-Identifier: Apache-2.0
/**
 * The next action for a claim, also for one that is being deleted, which a pod may still use. Pure. First match wins:
 *
 * | claim | condition | action |
 * |---|---|---|
 * | bound | names no volume, or one that is gone | mark as lost: ClaimLost |
 * | bound | its volume is reserved for another claim | mark as lost: ClaimMisbound |
 * | bound | else | bind: repeats writes that may be missing |
 * | names a volume | it exists and is free or reserved for the claim | bind |
 * | names a volume | else | none: waits for it |
 * | names none | a volume matches | bind |
 * | names none | class waits for a consumer and no node was selected | waitForConsumer |
 * | names none | class has an external provisioner | provision: marks the claim for it |
 */
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '@csi-sidecars/runtime';
import { bindCompleted, selectedNode } from '../annotations.ts';
import { isReservedFor } from './match.ts';

export interface ClaimState {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass | undefined;
  /** The volume that the claim names. */
  readonly named: PersistentVolume | undefined;
  /** The best volume for a claim that names none. */
  readonly match: PersistentVolume | undefined;
}

export type ClaimAction =
  | { readonly kind: 'none' }
  | { readonly kind: 'waitForConsumer' }
  | { readonly kind: 'provision'; readonly provisioner: string }
  | { readonly kind: 'bind'; readonly volume: PersistentVolume }
  | { readonly kind: 'lose'; readonly reason: 'ClaimLost' | 'ClaimMisbound'; readonly message: string };

const noProvisioner = 'kubernetes.io/no-provisioner';
const none: ClaimAction = { kind: 'none' };

export function decideClaim(state: ClaimState): ClaimAction {
  const { claim, named, match, storageClass } = state;
  const annotations = claim.metadata?.annotations ?? {};
  if (annotations[bindCompleted] !== undefined) return decideBoundClaim(state);
  if ((claim.spec?.volumeName ?? '') !== '') {
    if (named === undefined) return none;
    const free = named.spec?.claimRef === undefined || isReservedFor(named, claim);
    return free ? { kind: 'bind', volume: named } : none;
  }
  if (match !== undefined) return { kind: 'bind', volume: match };
  if (storageClass === undefined || storageClass.provisioner === noProvisioner) return none;
  if (storageClass.volumeBindingMode === 'WaitForFirstConsumer' && (annotations[selectedNode] ?? '') === '') {
    return { kind: 'waitForConsumer' };
  }
  return { kind: 'provision', provisioner: storageClass.provisioner };
}

function decideBoundClaim({ claim, named }: ClaimState): ClaimAction {
  if ((claim.spec?.volumeName ?? '') === '') {
    return { kind: 'lose', reason: 'ClaimLost', message: messages.lostReference };
  }
  if (named === undefined) return { kind: 'lose', reason: 'ClaimLost', message: messages.lostVolume };
  const reference = named.spec?.claimRef;
  if (reference === undefined || reference.uid === claim.metadata?.uid) return { kind: 'bind', volume: named };
  return { kind: 'lose', reason: 'ClaimMisbound', message: messages.misbound };
}

const messages = {
  lostReference: 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!',
  lostVolume: 'Bound claim has lost its PersistentVolume. Data on the volume is lost!',
  misbound: 'Two claims are bound to the same volume, this one is bound incorrectly',
} as const;
