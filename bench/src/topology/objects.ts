// SPDX-License-Identifier: Apache-2.0
/** The nodes, classes and claims of one test bed. */
import { aClaim, aStorageClass } from '@csi-sidecars/e2e';
import { ignoreNotFound, persistentVolumeClaims, storageClasses } from '@csi-sidecars/runtime';
import { concurrency } from '../provisioner/claims.ts';
import { createDriverNodes, nodeName, removeDriverNodes } from '../side-by-side/driver-nodes.ts';
import { inParallel } from '../side-by-side/in-parallel.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import type { Binding } from './measures.ts';

/** The driver is started with so many. */
export const maximumNodes = 1000;

const volumeBindingModes = { selected: 'WaitForFirstConsumer', immediate: 'Immediate' } as const;

export async function createNodesAndClass(bed: TestBed, { nodes, binding }: Placement): Promise<void> {
  const { cluster, namespace, driver } = bed;
  if (nodes > maximumNodes) throw new Error(`the driver of this bench has ${maximumNodes} nodes, not ${nodes}`);
  await createDriverNodes(bed, nodes);
  const volumeBindingMode = volumeBindingModes[binding];
  await cluster.api.create(storageClasses, aStorageClass(namespace, driver.name, { volumeBindingMode }));
}

export interface Placement {
  readonly nodes: number;
  readonly binding: Binding;
}

/** The next test bed must not watch the nodes. */
export async function removeNodesAndClass(bed: TestBed, { nodes }: Pick<Placement, 'nodes'>): Promise<void> {
  await bed.cluster.api.delete(storageClasses, { name: bed.namespace }).catch(ignoreNotFound);
  await removeDriverNodes(bed, nodes);
}

/** The bench selects the nodes itself, one for each claim: no scheduler, no pods. */
export async function createClaims(
  bed: TestBed,
  names: readonly string[],
  { nodes, binding }: Placement,
): Promise<void> {
  const { cluster, namespace } = bed;
  await inParallel(names.entries(), concurrency, ([n, name]) => {
    const annotations =
      binding === 'selected' ? { 'volume.kubernetes.io/selected-node': nodeName(bed, n % nodes) } : {};
    return cluster.api.create(persistentVolumeClaims, {
      ...aClaim(name, namespace),
      metadata: { name, namespace, annotations },
    });
  });
}
