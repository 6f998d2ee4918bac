// SPDX-License-Identifier: Apache-2.0
import { nodes, persistentVolumes, volumeAttachments } from '@csi-sidecars/runtime';
import { isReachableFrom } from '@csi-sidecars/volume';
import { nodeIdOf } from '../../names.ts';
import type { World } from '../../world.ts';
import { isDeleting } from './lookups.ts';

export function unsettledAttachments({ sim, drivers: [main] }: World): readonly string[] {
  const { objects } = sim.server;
  const found: string[] = [];
  const attached = new Set(
    main.model.volumes().flatMap(({ id, attachments }) => attachments.map(({ nodeId }) => `${id} on ${nodeId}`)),
  );
  for (const attachment of objects.list(volumeAttachments)) {
    const { metadata, spec, status } = attachment;
    const volume = objects.get(persistentVolumes, { name: spec.source.persistentVolumeName ?? '' });
    const place = `${volume?.spec?.csi?.volumeHandle} on ${nodeIdOf(spec.nodeName)}`;
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
    // A claim was deleted while its pod was being scheduled, and the next one of its name has a volume that this node does not reach. The
    // scheduler does not look again: a person deletes the pod.
    const node = objects.get(nodes, { name: spec.nodeName });
    const isOutOfReach = node !== undefined && !isReachableFrom(volume?.spec?.nodeAffinity, node.metadata?.labels);
    if (isRefused && (isLost || isElsewhere || isOutOfReach)) {
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
