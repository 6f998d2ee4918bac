// SPDX-License-Identifier: Apache-2.0
/**
 * Invariants of snapshots. Each violation is reported as a sentence.
 *
 * When quiet: every snapshot of the driver has its content and the other way round; every VolumeSnapshot and VolumeGroupSnapshot is ready,
 * without an error, and bound to a content that refers back; nothing is being created or deleted; no claim is protected as a source.
 */
import { snapshotSourceProtection } from '@csi-sidecars/provisioner';
import { type KubeObject, persistentVolumeClaims } from '@csi-sidecars/runtime';
import {
  isBoundTo,
  snapshotAnnotations,
  snapshotFinalizers,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import type { Stage } from './attachment-invariants.ts';

export function hasSnapshotApi({ server }: Stage): boolean {
  return server.types().some(({ plural }) => plural === volumeSnapshots.plural);
}

export function unsettledSnapshots(stage: Stage): readonly string[] {
  if (!hasSnapshotApi(stage)) return [];
  const { server, driver } = stage;
  const breaches: string[] = [];
  const contents = server.objects.list(volumeSnapshotContents);
  const groupContents = server.objects.list(volumeGroupSnapshotContents);
  for (const object of server.objects.list(volumeSnapshots)) {
    const { name = '' } = object.metadata ?? {};
    const content = contents.find(({ metadata }) => metadata?.name === object.status?.boundVolumeSnapshotContentName);
    if (object.status?.readyToUse !== true) breaches.push(`snapshot ${name} is not ready`);
    if (object.status?.error !== undefined) breaches.push(`snapshot ${name} still shows an error`);
    if (!isBoundTo(content?.spec?.volumeSnapshotRef, object)) breaches.push(`snapshot ${name} is not bound`);
  }
  for (const { metadata } of server.objects.list(volumeSnapshots)) {
    if (metadata?.finalizers?.includes(snapshotSourceProtection) === true) {
      breaches.push(`snapshot ${metadata.name} is still protected as the source of a claim`);
    }
  }
  for (const object of server.objects.list(volumeGroupSnapshots)) {
    const { name = '' } = object.metadata ?? {};
    const bound = object.status?.boundVolumeGroupSnapshotContentName;
    const content = groupContents.find(({ metadata }) => metadata?.name === bound);
    if (object.status?.readyToUse !== true) breaches.push(`group ${name} is not ready`);
    if (object.status?.error !== undefined) breaches.push(`group ${name} still shows an error`);
    if (!isBoundTo(content?.spec?.volumeGroupSnapshotRef, object)) breaches.push(`group ${name} is not bound`);
  }
  const all: readonly KubeObject[] = [
    ...server.objects.list(volumeSnapshots),
    ...contents,
    ...server.objects.list(volumeGroupSnapshots),
    ...groupContents,
  ];
  for (const { metadata } of all) {
    const { name = '', annotations = {}, labels = {}, deletionTimestamp } = metadata ?? {};
    if (deletionTimestamp !== undefined) breaches.push(`${name} is still being deleted`);
    const { beingCreated, groupBeingCreated } = snapshotAnnotations;
    for (const intent of [beingCreated, groupBeingCreated]) {
      if (annotations[intent] !== undefined || labels[intent] !== undefined) {
        breaches.push(`${name} is still being created`);
      }
    }
  }
  const held = new Set(driver.snapshots().map(({ id }) => id));
  for (const { metadata, status } of contents) {
    if (!held.has(status?.snapshotHandle ?? '')) breaches.push(`content ${metadata?.name} has no snapshot`);
  }
  for (const { metadata } of server.objects.list(persistentVolumeClaims)) {
    if (metadata?.finalizers?.includes(snapshotFinalizers.claim) === true) {
      breaches.push(`claim ${metadata.name} is still protected as the source of a snapshot`);
    }
  }
  return breaches;
}

/** Names of the snapshots in the driver that no content records. */
export function leakedSnapshots(stage: Stage): readonly string[] {
  if (!hasSnapshotApi(stage)) return [];
  const recorded = new Set(
    stage.server.objects.list(volumeSnapshotContents).map(({ status }) => status?.snapshotHandle),
  );
  return stage.driver
    .snapshots()
    .filter(({ id }) => !recorded.has(id))
    .map(({ name }) => name);
}

/** The visible result, without names, times and handles, which differ from run to run. */
export function snapshotState(stage: Stage): readonly object[] {
  if (!hasSnapshotApi(stage)) return [];
  const { server, driver } = stage;
  return [
    ...server.objects.list(volumeSnapshots).map(({ metadata, spec, status }) => ({
      snapshot: metadata?.ownerReferences === undefined ? metadata?.name : 'member',
      finalizers: metadata?.finalizers?.toSorted(),
      source: spec?.source?.persistentVolumeClaimName ?? spec?.source?.volumeSnapshotContentName,
      class: spec?.volumeSnapshotClassName,
      restoreSize: status?.restoreSize,
      hasTime: status?.creationTime !== undefined,
      group: status?.volumeGroupSnapshotName,
    })),
    ...server.objects.list(volumeSnapshotContents).map(({ metadata, spec, status }) => ({
      content: spec?.volumeSnapshotRef?.namespace,
      finalizers: metadata?.finalizers,
      annotations: Object.keys(metadata?.annotations ?? {}).toSorted(),
      policy: spec?.deletionPolicy,
      class: spec?.volumeSnapshotClassName,
      isReady: status?.readyToUse,
      restoreSize: String(status?.restoreSize),
      hasTime: status?.creationTime !== undefined,
      inGroup: status?.volumeGroupSnapshotHandle !== undefined,
    })),
    ...server.objects.list(volumeGroupSnapshots).map(({ metadata, status }) => ({
      group: metadata?.name,
      finalizers: metadata?.finalizers,
      isReady: status?.readyToUse,
      hasTime: status?.creationTime !== undefined,
    })),
    ...server.objects.list(volumeGroupSnapshotContents).map(({ metadata, status }) => ({
      groupContent: 'of group',
      finalizers: metadata?.finalizers,
      annotations: Object.keys(metadata?.annotations ?? {}).toSorted(),
      members: status?.volumeSnapshotInfoList?.length,
    })),
    ...driver.snapshots().map(({ phase, groupId }) => ({ taken: phase, inGroup: groupId !== undefined })),
  ];
}
