// SPDX-License-Identifier: Apache-2.0
/**
 * The provisioning finalizer of this driver on a claim: checking, adding and removing it. It names its driver. The
 * unnamed one of version 0.1 belongs to the driver that the claim asks for, and to no other.
 *
 * In node deployment an annotation names the node whose instance put it there: only that instance knows the request, and only its driver the volume.
 */
import type { DriverInfo } from '@csi-sidecars/csi';
import type { PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { instanceAnnotation, provisioningFinalizer, unnamedProvisioningFinalizer } from '../names.ts';
import { annotationsOf } from '../metadata.ts';
import type { ProvisionerSettings } from '../settings.ts';
import { chosenNodeOf, isOurs } from './claim.ts';

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
  readonly driver: Pick<DriverInfo, 'name'>;
  readonly settings: Pick<ProvisionerSettings, 'node'>;
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
