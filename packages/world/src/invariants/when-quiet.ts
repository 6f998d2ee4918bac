// SPDX-License-Identifier: Apache-2.0
/**
 * What must be so once nothing fails any more and everybody has done their part. Each sentence names an object that is not there yet; a
 * story that is quiet while there is one has broken `drains`.
 *
 * What a person has to do first is no breach: a claim that waits for a pod, for a source that is gone, or for a snapshot of it.
 */
import {
  events,
  type KubeObject,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  pods,
  volumeAttachments,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import { parseQuantity } from '@csi-sidecars/volume';
import {
  snapshotAnnotations,
  snapshotFinalizers,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import type { ObjectAccess } from '@csi-sidecars/runtime/testing';
import { namespace } from '../names.ts';
import { unsettledCapacities } from './capacity.ts';
import type { DriverActor } from '../driver.ts';
import type { World } from '../world.ts';

export function unsettled(world: World): readonly string[] {
  return [
    ...lostFields(world),
    ...unsettledClaims(world),
    ...world.drivers.flatMap((actor) => unsettledVolumes(world, actor)),
    ...unsettledAttachments(world),
    ...unsettledSnapshots(world),
    ...unsettledCapacities(world),
  ];
}

/** `foreign`: what people wrote onto an object stays. */
function lostFields({ sim, record }: World): readonly string[] {
  return record.foreign.flatMap(({ resource, uid, annotation }) => {
    const object = sim.server.objects.list(resource).find(({ metadata }) => metadata?.uid === uid);
    if (object === undefined || record.overwritten.has(uid)) return [];
    const isThere = object.metadata?.annotations?.[annotation] !== undefined;
    return isThere ? [] : [`foreign: ${resource.kind} ${object.metadata?.name} has lost ${annotation}`];
  });
}

const isDeleting = ({ metadata }: KubeObject): boolean => metadata?.deletionTimestamp !== undefined;

function unsettledClaims(world: World): readonly string[] {
  const { objects } = world.sim.server;
  const volumes = new Map(objects.list(persistentVolumes).map((volume) => [volume.metadata?.name, volume]));
  return objects.list(persistentVolumeClaims).flatMap((claim) => {
    const name = claim.metadata?.name ?? '';
    if (isKeptForNothing(objects, claim)) return [`claim ${name} is protected, and no snapshot is taken of it`];
    if (isDeleting(claim)) return isUsed(world, claim) ? [] : [`claim ${name} is still being deleted`];
    if (claim.status?.phase !== 'Bound') {
      if (!waitsForPerson(world, claim)) return [`claim ${name} is not bound`];
      return hasEvent(objects, claim) ? [] : [`claim ${name} waits for a person, and no event says so`];
    }
    const found: string[] = [];
    const volume = volumes.get(claim.spec?.volumeName ?? '');
    if (volume?.spec?.claimRef?.uid !== claim.metadata?.uid) found.push(`claim ${name} has lost its volume`);
    const extra = claim.metadata?.finalizers?.filter((each) => each.startsWith('provisioning-protection')) ?? [];
    if (extra.length > 0) found.push(`claim ${name} still has ${extra.join(', ')}`);
    return [...found, ...unsettledSize(world, claim)];
  });
}

/**
 * A pod keeps its claim. So does a snapshot of a bound claim that fails, or that another claim is to be restored from: both say why, and a
 * person deletes what is in the way.
 */
function isUsed({ sim }: World, claim: PersistentVolumeClaim): boolean {
  const { objects } = sim.server;
  const { name = '' } = claim.metadata ?? {};
  if (podsOf(objects, name).length > 0) return true;
  return objects
    .list(volumeSnapshots)
    .filter(({ spec }) => spec?.source?.persistentVolumeClaimName === name)
    .some(
      (snapshot) =>
        claim.status?.phase === 'Bound' &&
        (snapshot.status?.error !== undefined || (isDeleting(snapshot) && isSource(objects, snapshot))),
    );
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

/** Something was said about this very object. */
function hasEvent(objects: ObjectAccess, { metadata }: KubeObject): boolean {
  return objects.list(events).some(({ involvedObject }) => involvedObject?.uid === metadata?.uid);
}

/** A claim that waits to be restored from the snapshot keeps it. */
function isSource(objects: ObjectAccess, { metadata }: KubeObject): boolean {
  return objects
    .list(persistentVolumeClaims)
    .some(
      ({ spec, status }) =>
        status?.phase !== 'Bound' &&
        spec?.dataSource?.kind === 'VolumeSnapshot' &&
        spec.dataSource.name === metadata?.name,
    );
}

function podsOf(objects: ObjectAccess, claim: string): readonly Pod[] {
  return objects
    .list(pods)
    .filter(({ spec }) => spec?.volumes?.some(({ persistentVolumeClaim: use }) => use?.claimName === claim) === true);
}

function waitsForPerson({ sim }: World, { metadata, spec }: PersistentVolumeClaim): boolean {
  const { objects } = sim.server;
  const hasPod = podsOf(objects, metadata?.name ?? '').length > 0;
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

function unsettledVolumes(world: World, actor: DriverActor): readonly string[] {
  const { objects } = world.sim.server;
  const { model } = actor;
  const found: string[] = [];
  const recorded = new Set<string>();
  const held = new Set(model.volumes().map(({ id }) => id));
  for (const volume of objects.list(persistentVolumes)) {
    const { metadata, spec, status } = volume;
    if (spec?.csi?.driver !== actor.name) continue;
    const handle = spec?.csi?.volumeHandle ?? '';
    if (recorded.has(handle)) found.push(`two PersistentVolumes record ${handle}`);
    recorded.add(handle);
    const isKept = spec?.persistentVolumeReclaimPolicy === 'Retain';
    // One that a person has deleted waits for its claim.
    if (isDeleting(volume) && status?.phase !== 'Bound')
      found.push(`PersistentVolume ${metadata?.name} is still being deleted`);
    if (status?.phase !== 'Bound' && !isKept) found.push(`PersistentVolume ${metadata?.name} is ${status?.phase}`);
    if (!held.has(handle)) found.push(`PersistentVolume ${metadata?.name} has no volume`);
  }
  for (const { id, name } of model.volumes()) {
    if (!recorded.has(id) && !isAdmitted(world, actor, { id, name }))
      found.push(`leak: volume ${name} has no PersistentVolume`);
  }
  return found;
}

/** Whether a volume may be there without an object: it was retained, or the story fell into a window that the page documents. */
export function isAdmitted(
  { mayLeak }: World,
  { checks }: DriverActor,
  { id, name }: { readonly id: string; readonly name: string },
): boolean {
  const isDenied = [...checks.denied].some((denied) => name === denied || name.startsWith(`${denied}-`));
  if (checks.retained.has(id) || isDenied) return true;
  return mayLeak && checks.orphaned.has(name);
}

function unsettledAttachments({ sim, drivers: [main] }: World): readonly string[] {
  const { objects } = sim.server;
  const found: string[] = [];
  const attached = new Set(
    main.model.volumes().flatMap(({ id, attachments }) => attachments.map(({ nodeId }) => `${id} on ${nodeId}`)),
  );
  for (const attachment of objects.list(volumeAttachments)) {
    const { metadata, spec, status } = attachment;
    const volume = objects.get(persistentVolumes, { name: spec.source.persistentVolumeName ?? '' });
    const place = `${volume?.spec?.csi?.volumeHandle} on id-${spec.nodeName}`;
    const isRefused = !isDeleting(attachment) && status?.attached !== true && status?.attachError !== undefined;
    // Nothing attaches a volume that a person has deleted.
    const isLost = volume === undefined || isDeleting(volume);
    // With pods of one claim on two nodes, the second one gets the volume when the first one is gone.
    const isElsewhere = objects
      .list(volumeAttachments)
      .some(
        (other) =>
          other.status?.attached === true &&
          other.spec.source.persistentVolumeName === spec.source.persistentVolumeName,
      );
    if (isRefused && (isLost || isElsewhere)) {
      attached.delete(place);
      continue;
    }
    if (isDeleting(attachment)) found.push(`attachment ${metadata?.name} is still being deleted`);
    else if (status?.attached !== true) found.push(`attachment ${metadata?.name} is not attached`);
    if (!attached.delete(place)) found.push(`attachment ${metadata?.name} is not what the driver has`);
    if (status?.attachError !== undefined) found.push(`attachment ${metadata?.name} still shows an error`);
  }
  for (const place of attached) found.push(`leak: ${place} has no VolumeAttachment`);
  return found;
}

function unsettledSnapshots(world: World): readonly string[] {
  const {
    sim,
    drivers: [main],
  } = world;
  const { objects } = sim.server;
  const found: string[] = [];
  const contents = objects.list(volumeSnapshotContents);
  for (const object of objects.list(volumeSnapshots)) {
    const { metadata, spec, status } = object;
    if (isDeleting(object) && isSource(objects, object) && !hasEvent(objects, object)) {
      found.push(`snapshot ${metadata?.name} waits for a person, and no event says so`);
    }
    if (isDeleting(object) && !isSource(objects, object))
      found.push(`snapshot ${metadata?.name} is still being deleted`);
    else if (isDeleting(object)) continue;
    else if (status?.readyToUse !== true) {
      const claim = objects.get(persistentVolumeClaims, {
        namespace,
        name: spec?.source?.persistentVolumeClaimName ?? '',
      });
      const hasDriver = claim?.spec?.storageClassName !== 'plain';
      const isPossible = hasDriver && spec?.volumeSnapshotClassName !== 'missing';
      const isCut = claim?.status?.phase === 'Bound' && !isDeleting(claim);
      // One that is imported, or that a group has cut.
      const isThere = spec?.source?.volumeSnapshotContentName !== undefined && status?.error === undefined;
      if (isPossible && (isCut || isThere)) found.push(`snapshot ${metadata?.name} is not ready`);
    }
  }
  for (const group of objects.list(volumeGroupSnapshots)) {
    if (isDeleting(group)) found.push(`group ${group.metadata?.name} is still being deleted`);
    else if (group.status?.readyToUse !== true && group.status?.error === undefined)
      found.push(`group ${group.metadata?.name} is not ready, and does not say why`);
  }
  const bound = new Set(objects.list(volumeSnapshots).map(({ metadata }) => metadata?.uid));
  for (const content of [...contents, ...objects.list(volumeGroupSnapshotContents)]) {
    // A snapshot keeps its content.
    const isUsed =
      'volumeSnapshotRef' in (content.spec ?? {}) &&
      bound.has((content as VolumeSnapshotContent).spec?.volumeSnapshotRef?.uid);
    if (isDeleting(content) && !isUsed) found.push(`content ${content.metadata?.name} is still being deleted`);
  }
  const recorded = new Set(contents.map(({ status }) => status?.snapshotHandle));
  for (const { metadata, status } of contents) {
    const { uid = '', annotations, labels } = metadata ?? {};
    const isShown = { ...labels, ...annotations }[snapshotAnnotations.beingCreated] !== undefined;
    if (isShown && status?.readyToUse === true && !world.record.overwritten.has(uid))
      found.push(`content ${metadata?.name} is ready and still says that it is being created`);
  }
  for (const { id, name } of main.model.snapshots()) {
    if (!recorded.has(id) && !isAdmitted(world, main, { id, name }))
      found.push(`leak: snapshot ${name} has no content`);
  }
  return found;
}

function bytesOf(size: string | undefined): bigint {
  return (parseQuantity(size ?? '0')?.nanos ?? -1n) / 1_000_000_000n;
}
