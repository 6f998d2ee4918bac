// SPDX-License-Identifier: Apache-2.0
/**
 * The provisioning finalizer of this driver on a claim: checking, adding and removing it. It names its driver. The
 * unnamed one of version 0.1 belongs to the driver that the claim asks for, and to no other.
 *
 * In node deployment an annotation names the node whose instance put it there: only that instance knows the request, and only its driver the volume.
 */
import type { PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { instanceAnnotation, provisioningFinalizer, unnamedProvisioningFinalizer } from '../names.ts';
import { annotationsOf } from '../metadata.ts';
import { chosenNodeOf, isOurs } from './claim.ts';
import type { ClaimContext, ClaimState } from './state.ts';

/** The finalizers on the claim that this driver put there, or took over. */
export function protectionOf(claim: PersistentVolumeClaim, driverName: string): readonly string[] {
  const named = provisioningFinalizer(driverName);
  const mayTakeOver = isOurs(claim, driverName);
  const all = claim.metadata?.finalizers ?? [];
  return all.filter((finalizer) => finalizer === named || (mayTakeOver && finalizer === unnamedProvisioningFinalizer));
}

export function isProtected(claim: PersistentVolumeClaim, driverName: string): boolean {
  return protectionOf(claim, driverName).length > 0;
}

/** `none`: the finalizer is not there. `''`: it is, and no instance is known. */
type Settler = 'none' | 'us' | { readonly node: string };

/** Who settles a claim with the finalizer. One without the annotation was left by the one instance of a central deployment. */
export function settlerOf(claim: PersistentVolumeClaim, { driver, settings }: SettlerContext): Settler {
  if (!isProtected(claim, driver.name)) return 'none';
  if (settings.node === undefined) return 'us';
  const node = annotationsOf(claim)[instanceAnnotation(driver.name)] ?? chosenNodeOf(claim);
  return node === settings.node.name ? 'us' : { node };
}

export interface SettlerContext {
  readonly driver: Pick<ClaimContext['driver'], 'name'>;
  readonly settings: Pick<ClaimContext['settings'], 'node'>;
}

/** `node`: whose instance settles the claim, in node deployment. */
export function withProtection(
  claim: PersistentVolumeClaim,
  driverName: string,
  node: string | undefined,
): PersistentVolumeClaim {
  if (isProtected(claim, driverName)) return claim;
  const finalizers = [...(claim.metadata?.finalizers ?? []), provisioningFinalizer(driverName)];
  if (node === undefined) return { ...claim, metadata: { ...claim.metadata, finalizers } };
  const annotations = { ...claim.metadata?.annotations, [instanceAnnotation(driverName)]: node };
  return { ...claim, metadata: { ...claim.metadata, annotations, finalizers } };
}

export function withoutProtection(claim: PersistentVolumeClaim, driverName: string): PersistentVolumeClaim {
  const ours = protectionOf(claim, driverName);
  if (ours.length === 0) return claim;
  const finalizers = (claim.metadata?.finalizers ?? []).filter((finalizer) => !ours.includes(finalizer));
  const { [instanceAnnotation(driverName)]: instance, ...annotations } = annotationsOf(claim);
  const others = instance === undefined ? {} : { annotations };
  return { ...claim, metadata: { ...claim.metadata, ...others, finalizers } };
}

/**
 * The API server refuses a new finalizer on a claim that is being deleted. A claim that has the volume of another node is not kept for the
 * sake of a second one.
 */
export function mayProtect(s: ClaimState, { settings }: ClaimContext): boolean {
  const isWanted = settings.provisioningProtection !== 'off' && !isRecordedElsewhere(s);
  return isWanted && s.presence === 'live' && !s.isProtected;
}

/** Node deployment: the PersistentVolume of another node has the volume of the claim. One on this node is a second one. */
export function isRecordedElsewhere({ volume, created }: Pick<ClaimState, 'volume' | 'created'>): boolean {
  return volume.kind === 'elsewhere' || created?.row === 'O12';
}
