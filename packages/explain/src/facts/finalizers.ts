// SPDX-License-Identifier: Apache-2.0
/** Finalizers of Kubernetes and CSI: whose they are, and what has to happen before the owner takes them off. */
import { cloningProtection, driverOfProvisioningFinalizer, volumeFinalizer } from '@csi-sidecars/provisioner';
import { sanitizedName } from '@csi-sidecars/runtime';
import { snapshotFinalizers } from '@csi-sidecars/volume';
import type { Actor } from '../verdict.ts';

export type FinalizerKind =
  | 'pvcProtection'
  | 'pvProtection'
  | 'volume'
  | 'inTreeVolume'
  | 'attacher'
  | 'provisioning'
  | 'source'
  | 'snapshotSource'
  | 'snapshot'
  | 'content'
  | 'garbage'
  | 'foreign';

export interface KnownFinalizer {
  readonly name: string;
  readonly kind: FinalizerKind;
  readonly owner: Actor;
  /** Of a foreign finalizer: the domain in its name, which is a guess. */
  readonly guess?: string;
}

const { restored, claim, content, groupContent, ...ofSnapshots } = snapshotFinalizers;

const exact: Readonly<Record<string, Omit<KnownFinalizer, 'name'>>> = {
  'kubernetes.io/pvc-protection': { kind: 'pvcProtection', owner: 'kube-controller-manager' },
  'kubernetes.io/pv-protection': { kind: 'pvProtection', owner: 'kube-controller-manager' },
  'kubernetes.io/pv-controller': { kind: 'inTreeVolume', owner: 'kube-controller-manager' },
  [volumeFinalizer]: { kind: 'volume', owner: 'csi-provisioner' },
  [cloningProtection]: { kind: 'source', owner: 'csi-provisioner' },
  [restored]: { kind: 'source', owner: 'csi-provisioner' },
  [claim]: { kind: 'snapshotSource', owner: 'snapshot-controller' },
  [content]: { kind: 'content', owner: 'csi-snapshotter' },
  [groupContent]: { kind: 'content', owner: 'csi-snapshotter' },
  ...Object.fromEntries(
    Object.values(ofSnapshots).map((name) => [name, { kind: 'snapshot', owner: 'snapshot-controller' }]),
  ),
  foregroundDeletion: { kind: 'garbage', owner: 'kube-controller-manager' },
  orphan: { kind: 'garbage', owner: 'kube-controller-manager' },
};

const attacherPrefix = 'external-attacher/';

export function knownFinalizer(name: string): KnownFinalizer {
  const found = Object.hasOwn(exact, name) ? exact[name] : undefined;
  if (found !== undefined) return { name, ...found };
  if (name.startsWith(attacherPrefix)) return { name, kind: 'attacher', owner: 'csi-attacher' };
  if (driverOfProvisioningFinalizer(name) !== undefined)
    return { name, kind: 'provisioning', owner: 'csi-provisioner' };
  return { name, kind: 'foreign', owner: 'other', guess: name.split('/')[0] ?? name };
}

/** In the order in which they are waited for. */
const order: readonly FinalizerKind[] = [
  'pvcProtection',
  'snapshotSource',
  'source',
  'provisioning',
  'pvProtection',
  'foreign',
  'volume',
  'attacher',
  'inTreeVolume',
  'content',
  'snapshot',
  'garbage',
];

export function inOrder(names: readonly string[]): readonly KnownFinalizer[] {
  return names.map(knownFinalizer).toSorted((left, right) => order.indexOf(left.kind) - order.indexOf(right.kind));
}

export function isAttacherOf(name: string, driver: string): boolean {
  return name === attacherPrefix + sanitizedName(driver);
}
