// SPDX-License-Identifier: Apache-2.0
/** The segments and classes of one test bed: a node with the driver in each segment, and ten classes that bind late. */
import { aStorageClass } from '@csi-sidecars/e2e';
import { csiStorageCapacities, ignoreNotFound, nodes, type Resource, storageClasses } from '@csi-sidecars/runtime';
import { createDriverNodes, driverNodeFlags, nodeName, removeDriverNodes } from '../side-by-side/driver-nodes.ts';
import { inParallel } from '../side-by-side/in-parallel.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';

export const classCount = 10;
const concurrency = 32;

const className = ({ namespace }: TestBed, n: number): string => `${namespace}-${n}`;

/** The driver has a node in each segment, so that it reports capacity there. */
export const driverFlags: readonly string[] = driverNodeFlags(100);

export async function createSegments(bed: TestBed, segments: number): Promise<void> {
  const { api } = bed.cluster;
  await createDriverNodes(bed, segments);
  await inParallel(Array(classCount).keys(), concurrency, (n) =>
    api.create(
      storageClasses,
      aStorageClass(className(bed, n), bed.driver.name, { volumeBindingMode: 'WaitForFirstConsumer' }),
    ),
  );
}

export async function removeSegments(bed: TestBed, segments: number): Promise<void> {
  const { api } = bed.cluster;
  await inParallel(Array(classCount).keys(), concurrency, (n) =>
    api.delete(storageClasses, { name: className(bed, n) }).catch(ignoreNotFound),
  );
  await removeDriverNodes(bed, segments);
}

export async function countObjects({ cluster, namespace }: TestBed): Promise<number> {
  const { items, remainingItemCount = 0 } = await cluster.api.list(csiStorageCapacities, { namespace, limit: 1 });
  return items.length + remainingItemCount;
}

/** A label of each node and each class that says nothing about capacity. */
export async function labelEverything(bed: TestBed, segments: number): Promise<void> {
  const { api } = bed.cluster;
  const body = { metadata: { labels: { 'example.com/feature': 'on' } } };
  const patch = (resource: Resource, name: string): Promise<unknown> =>
    api.patch({ resource, ref: { name } }, { type: 'merge', body });
  await inParallel(Array(segments).keys(), concurrency, (n) => patch(nodes, nodeName(bed, n)));
  await inParallel(Array(classCount).keys(), concurrency, (n) => patch(storageClasses, className(bed, n)));
}
