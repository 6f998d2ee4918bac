// SPDX-License-Identifier: Apache-2.0
/**
 * The provisioning finalizer of this driver on a claim: checking, adding and removing it. It names its driver. The
 * unnamed one of version 0.1 belongs to the driver that the claim asks for, and to no other.
 */
import type { PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { provisioningFinalizer, unnamedProvisioningFinalizer } from '../names.ts';
import { isOurs } from './claim.ts';
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

export function withProtection(claim: PersistentVolumeClaim, driverName: string): PersistentVolumeClaim {
  if (isProtected(claim, driverName)) return claim;
  const finalizers = [...(claim.metadata?.finalizers ?? []), provisioningFinalizer(driverName)];
  return { ...claim, metadata: { ...claim.metadata, finalizers } };
}

export function withoutProtection(claim: PersistentVolumeClaim, driverName: string): PersistentVolumeClaim {
  const ours = protectionOf(claim, driverName);
  if (ours.length === 0) return claim;
  const finalizers = (claim.metadata?.finalizers ?? []).filter((finalizer) => !ours.includes(finalizer));
  return { ...claim, metadata: { ...claim.metadata, finalizers } };
}

/** The API server refuses a new finalizer on a claim that is being deleted. */
export function mayProtect({ presence, isProtected: isDone }: ClaimState, { settings }: ClaimContext): boolean {
  return settings.provisioningProtection !== 'off' && presence === 'live' && !isDone;
}
