// SPDX-License-Identifier: Apache-2.0
/**
 * What must be so once nothing fails any more and everybody has done their part. Each sentence names an object that is not there yet; a
 * story that is quiet while there is one has broken `drains`.
 *
 * What a person has to do first is no breach: a claim that waits for a pod, for a source that is gone, or for a snapshot of it.
 */
import type { World } from '../../world.ts';
import { unsettledAttachments } from './attachments.ts';
import { unsettledCapacities } from './capacity.ts';
import { unsettledClaims } from './claims.ts';
import { unsettledHealth } from './health.ts';
import { unsettledSnapshots } from './snapshots.ts';
import { unsettledVolumes } from './volumes.ts';
import { unsettledWarnings } from './warnings.ts';

export function unsettled(world: World): readonly string[] {
  return [
    ...lostFields(world),
    ...unsettledClaims(world),
    ...world.drivers.flatMap((actor) => unsettledVolumes(world, actor)),
    ...unsettledAttachments(world),
    ...unsettledSnapshots(world),
    ...unsettledCapacities(world),
    ...unsettledHealth(world),
    ...unsettledWarnings(world),
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
