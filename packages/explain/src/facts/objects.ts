// SPDX-License-Identifier: Apache-2.0
/** Single facts of objects that several rows ask for. */
import type { KubeObject, PersistentVolumeClaim, Pod } from '@csi-sidecars/runtime';
import type { ObjectName } from '../verdict.ts';

export const claimAnnotations = {
  storageProvisioner: 'volume.kubernetes.io/storage-provisioner',
  betaStorageProvisioner: 'volume.beta.kubernetes.io/storage-provisioner',
  betaStorageClass: 'volume.beta.kubernetes.io/storage-class',
  selectedNode: 'volume.kubernetes.io/selected-node',
} as const;

/** On claims, PersistentVolumes and CSINodes: the driver that has replaced an in-tree plugin. */
export const migratedTo = 'pv.kubernetes.io/migrated-to';

export function annotationOf({ metadata }: KubeObject, name: string): string | undefined {
  return metadata?.annotations?.[name];
}

export function nameOf({ metadata }: KubeObject): string {
  return metadata?.name ?? '';
}

/** Undefined: the object has no such time, or none that can be read. */
export function timeOf(text: string | undefined | null): number | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isFinite(ms) ? ms : undefined;
}

export function createdMs({ metadata }: KubeObject): number | undefined {
  return timeOf(metadata?.creationTimestamp);
}

export function deletedMs({ metadata }: KubeObject): number | undefined {
  return timeOf(metadata?.deletionTimestamp);
}

export function isBeingDeleted({ metadata }: KubeObject): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

export function objectName(kind: string, { metadata }: KubeObject): ObjectName {
  return { kind, namespace: metadata?.namespace, name: metadata?.name ?? '', uid: metadata?.uid };
}

/** Undefined: the claim names no class. Empty: it wants none. */
export function classNameOf(claim: PersistentVolumeClaim): string | undefined {
  return annotationOf(claim, claimAnnotations.betaStorageClass) ?? claim.spec?.storageClassName;
}

/** The provisioner that kube-controller-manager has asked for a volume. */
export function provisionerOf(claim: PersistentVolumeClaim): string | undefined {
  return (
    annotationOf(claim, claimAnnotations.storageProvisioner) ??
    annotationOf(claim, claimAnnotations.betaStorageProvisioner)
  );
}

export function selectedNodeOf(claim: PersistentVolumeClaim): string | undefined {
  return annotationOf(claim, claimAnnotations.selectedNode) || undefined;
}

/** A pod that has ended keeps no volume. */
export function hasEnded({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** The claims that a pod names, also those that are made for it. */
export function claimNamesOf(pod: Pod): readonly string[] {
  return (pod.spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) return [persistentVolumeClaim.claimName];
    return ephemeral === undefined ? [] : [`${nameOf(pod)}-${name}`];
  });
}
