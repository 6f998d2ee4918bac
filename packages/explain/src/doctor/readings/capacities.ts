// SPDX-License-Identifier: Apache-2.0
/** CSIStorageCapacity objects: of which driver and class, and who keeps them. */
import { type CSIStorageCapacity, csiStorageCapacities, type KubeObject } from '@csi-sidecars/runtime';
import { nameOf, timeOf } from '../../facts/objects.ts';
import { reducedSource, type Source } from './source.ts';
import type { CapacityFacts } from './facts.ts';

const driverLabel = 'csi.storage.k8s.io/drivername';
const managedByLabel = 'csi.storage.k8s.io/managed-by';

export const capacitySource: Source<readonly CapacityFacts[]> = reducedSource(
  csiStorageCapacities,
  (object: CSIStorageCapacity & KubeObject) => ({
    namespace: object.metadata?.namespace ?? '',
    name: nameOf(object),
    driver: object.metadata?.labels?.[driverLabel],
    className: object.storageClassName,
    managedBy: object.metadata?.labels?.[managedByLabel],
    topology: object.nodeTopology,
    owners: (object.metadata?.ownerReferences ?? []).map(({ kind, name, uid }) => ({ kind, name, uid })),
    changedMs: changedMs(object),
  }),
);

function changedMs({ metadata }: KubeObject): number | undefined {
  const times = (metadata?.managedFields ?? []).map(({ time }) => timeOf(time)).filter((ms) => ms !== undefined);
  return times.length === 0 ? undefined : Math.max(...times);
}
