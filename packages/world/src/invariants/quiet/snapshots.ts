// SPDX-License-Identifier: Apache-2.0
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import {
  snapshotAnnotations,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { namespace } from '../../names.ts';
import type { World } from '../../world.ts';
import { hasEvent, isAdmitted, isDeleting, isSource } from './lookups.ts';

export function unsettledSnapshots(world: World): readonly string[] {
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
