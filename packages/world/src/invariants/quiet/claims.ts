// SPDX-License-Identifier: Apache-2.0
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import type { ObjectAccess } from '@csi-sidecars/runtime/testing';
import { snapshotFinalizers, volumeSnapshots } from '@csi-sidecars/volume';
import { namespace } from '../../names.ts';
import type { World } from '../../world.ts';
import { kindOfSource } from '../../sources.ts';
import { bytesOf } from '../steps/stage.ts';
import { hasEvent, isAdmitted, isDeleting, isSource, isUnsettled, podsOf } from './lookups.ts';

export function unsettledClaims(world: World): readonly string[] {
  const { objects } = world.sim.server;
  const volumes = new Map(objects.list(persistentVolumes).map((volume) => [volume.metadata?.name, volume]));
  return objects.list(persistentVolumeClaims).flatMap((claim) => {
    const name = claim.metadata?.name ?? '';
    if (isKeptForNothing(objects, claim)) return [`claim ${name} is protected, and no snapshot is taken of it`];
    if (isDeleting(claim)) return isUsed(world, claim) ? [] : [`claim ${name} is still being deleted`];
    // No populator runs.
    if (waitsForPopulator(claim.spec?.dataSourceRef?.kind)) return [];
    if (claim.status?.phase !== 'Bound') {
      if (!waitsForPerson(world, claim)) return [`claim ${name} is not bound`];
      return hasEvent(objects, claim) ? [] : [`claim ${name} waits for a person, and no event says so`];
    }
    const found: string[] = [];
    const volume = volumes.get(claim.spec?.volumeName ?? '');
    if (volume?.spec?.claimRef?.uid !== claim.metadata?.uid) found.push(`claim ${name} has lost its volume`);
    if (isUnsettled(claim)) found.push(`claim ${name} still has the finalizer of csi-provisioner`);
    return [...found, ...unsettledSize(world, claim)];
  });
}

/**
 * A pod keeps its claim. So does a clone that waits for a pod, and a snapshot of a bound claim that fails, or that another claim is to be restored from: both say why, and a
 * person deletes what is in the way.
 */
function isUsed({ sim }: World, claim: PersistentVolumeClaim): boolean {
  const { objects } = sim.server;
  const { name = '' } = claim.metadata ?? {};
  if (podsOf(objects, name).length > 0 || isToBeCloned(objects, name)) return true;
  return (
    objects
      .list(volumeSnapshots)
      .filter(({ spec }) => spec?.source?.persistentVolumeClaimName === name)
      // One without its class is never taken, and keeps nothing.
      .filter(({ spec }) => spec?.volumeSnapshotClassName !== 'missing')
      .some(
        (snapshot) =>
          claim.status?.phase === 'Bound' &&
          (snapshot.status?.error !== undefined || (isDeleting(snapshot) && isSource(objects, snapshot))),
      )
  );
}

function isToBeCloned(objects: ObjectAccess, name: string): boolean {
  return objects.list(persistentVolumeClaims).some(({ spec, status }) => {
    const { kind, name: source } = spec?.dataSource ?? {};
    const isClone = kind === 'PersistentVolumeClaim' && source === name;
    return isClone && status?.phase !== 'Bound' && spec?.storageClassName === 'late';
  });
}

/** It has the finalizer of snapshot-controller, and each of its snapshots is ready or gone. */
function isKeptForNothing(objects: ObjectAccess, { metadata }: PersistentVolumeClaim): boolean {
  if (metadata?.finalizers?.includes(snapshotFinalizers.claim) !== true) return false;
  return objects
    .list(volumeSnapshots)
    .filter(({ spec }) => spec?.source?.persistentVolumeClaimName === metadata.name)
    .every(
      (snapshot) => snapshot.status?.readyToUse === true && !(isDeleting(snapshot) && isSource(objects, snapshot)),
    );
}

const waitsForPopulator = (kind: string | undefined): boolean =>
  kind !== undefined && kindOfSource(kind).registered !== 'built-in';

function waitsForPerson(world: World, { metadata, spec }: PersistentVolumeClaim): boolean {
  const { objects } = world.sim.server;
  // An instance of another node has died in its call, and what it has made has the name.
  const made = world.drivers[0].model.volumes().find((each) => each.name === `pvc-${metadata?.uid}`);
  if (world.story.shape.deployment === 'nodes' && made !== undefined && isAdmitted(world, world.drivers[0], made)) {
    return true;
  }
  // A pod that has its node was scheduled with an earlier claim of the name, and the scheduler does not look at it again.
  const hasPod = podsOf(objects, metadata?.name ?? '').some((pod) => (pod.spec?.nodeName ?? '') === '');
  if (spec?.storageClassName === 'late' && !hasPod) return true;
  // Bound by half to a PersistentVolume that a person has deleted, with its finalizers: lost.
  const volume = objects.get(persistentVolumes, { name: spec?.volumeName ?? '' });
  if ((spec?.volumeName ?? '') !== '' && volume === undefined) return true;
  const { kind, name = '' } = spec?.dataSource ?? {};
  if (kind === 'VolumeSnapshot') {
    const snapshot = objects.get(volumeSnapshots, { namespace, name });
    return snapshot === undefined || isDeleting(snapshot) || snapshot.status?.readyToUse !== true;
  }
  if (kind === 'PersistentVolumeClaim') {
    const source = objects.get(persistentVolumeClaims, { namespace, name });
    const isForeign = (source?.spec?.storageClassName === 'plain') !== (spec?.storageClassName === 'plain');
    return source === undefined || isDeleting(source) || source.status?.phase !== 'Bound' || isForeign;
  }
  return false;
}

function unsettledSize(world: World, { metadata, spec, status }: PersistentVolumeClaim): readonly string[] {
  if (spec?.storageClassName === 'plain') return [];
  const { objects } = world.sim.server;
  const volume = objects.get(persistentVolumes, { name: spec?.volumeName ?? '' });
  const actor = world.drivers.find(({ name }) => name === volume?.spec?.csi?.driver);
  const stored = actor?.model.volumes().find(({ id }) => id === volume?.spec?.csi?.volumeHandle);
  const wanted = bytesOf(spec?.resources?.requests?.['storage']);
  const sizes = {
    claim: bytesOf(status?.capacity?.['storage']),
    volume: bytesOf(volume?.spec?.capacity?.['storage']),
    storage: stored?.capacityBytes ?? -1n,
  };
  const found: string[] = [];
  const hasPod = podsOf(objects, metadata?.name ?? '').some((pod) => pod.status?.phase === 'Running');
  // The node's part waits for a pod.
  const waitsForPod = world.story.shape.nodesExpand && !hasPod;
  const resizing = status?.allocatedResourceStatuses?.['storage'];
  if (stored === undefined) found.push(`claim ${metadata?.name} has no volume in the driver`);
  if (sizes.volume !== sizes.storage) found.push(`claim ${metadata?.name}: volume and storage have different sizes`);
  // The node finishes one size before the next one is called.
  const isNodesTurn = waitsForPod && resizing?.startsWith('NodeResize') === true;
  if (sizes.volume < wanted && !isNodesTurn) found.push(`claim ${metadata?.name} has not grown`);
  if (!waitsForPod && sizes.claim < wanted) found.push(`claim ${metadata?.name} does not show its size`);
  // Kubelet before 1.32 leaves the resize status as it is.
  if (!waitsForPod && !world.story.shape.oldKubelet && resizing !== undefined)
    found.push(`claim ${metadata?.name} is still ${resizing}`);
  const wantedClass = spec?.volumeAttributesClassName ?? '';
  if (wantedClass !== '' && status?.currentVolumeAttributesClassName !== wantedClass) {
    found.push(`claim ${metadata?.name} does not have the class ${wantedClass}`);
  }
  if (status?.modifyVolumeStatus !== undefined) found.push(`claim ${metadata?.name} is still being modified`);
  const current = status?.currentVolumeAttributesClassName ?? '';
  if ((volume?.spec?.volumeAttributesClassName ?? '') !== current) {
    found.push(`claim ${metadata?.name} and its PersistentVolume have different classes`);
  }
  const wantedIops = objects.get(volumeAttributesClasses, { name: current })?.parameters?.['iops'];
  if (stored !== undefined && stored.mutableParameters['iops'] !== wantedIops) {
    found.push(`claim ${metadata?.name} has the class ${current}, and its volume has not`);
  }
  return found;
}
