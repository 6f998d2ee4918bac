// SPDX-License-Identifier: Apache-2.0
import { csiStorageCapacities, nodes, storageClasses } from '@csi-sidecars/runtime';
import { driverName, poolBytes, zoneKey } from '../../names.ts';
import type { World } from '../../world.ts';
import { bytesOf } from '../steps/stage.ts';

/** Each class has one object in each place, and it shows what is free. */
export function unsettledCapacities({ sim, story, drivers: [main] }: World): readonly string[] {
  if (story.shape.capacity !== true) return [];
  const { objects } = sim.server;
  const free = main.model.volumes().reduce((left, { capacityBytes }) => left - capacityBytes, poolBytes);
  const places = new Set(objects.list(nodes).map(({ metadata }) => metadata?.labels?.[zoneKey]));
  const wanted = objects
    .list(storageClasses)
    .filter(({ provisioner }) => provisioner === driverName)
    .flatMap(({ metadata }) => [...places].map((place) => `${metadata?.name} in ${place}: ${free}`));
  const shown = objects.list(csiStorageCapacities).map(({ storageClassName, nodeTopology, capacity }) => {
    return `${storageClassName} in ${nodeTopology?.matchLabels?.[zoneKey]}: ${bytesOf(capacity)}`;
  });
  const isSame = JSON.stringify(wanted.toSorted()) === JSON.stringify(shown.toSorted());
  return isSame ? [] : [`the capacity is shown as ${shown.join(', ')} instead of ${wanted.join(', ')}`];
}
