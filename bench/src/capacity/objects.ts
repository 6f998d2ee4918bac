// SPDX-License-Identifier: Apache-2.0
/** The segments and classes of one test environment: a node with the driver in each segment, and ten classes that bind late. */
import { aStorageClass, inParallel } from '@csi-sidecars/e2e';
import { csiStorageCapacities, ignoreNotFound, nodes, type Resource, storageClasses } from '@csi-sidecars/runtime';
import { createDriverNodes, driverNodeFlags, nodeName, removeDriverNodes } from '../side-by-side/driver-nodes.ts';
import type { BenchEnvironment } from '../side-by-side/environment.ts';

export const classCount = 10;
const concurrency = 32;

const className = ({ namespace }: BenchEnvironment, n: number): string => `${namespace}-${n}`;

/** The driver has a node in each segment, so that it reports capacity there. */
export const driverFlags: readonly string[] = driverNodeFlags(100);

export async function createSegments(environment: BenchEnvironment, segments: number): Promise<void> {
  const { api } = environment.cluster;
  await createDriverNodes(environment, segments);
  await inParallel(Array(classCount).keys(), concurrency, (n) =>
    api.create(
      storageClasses,
      aStorageClass(className(environment, n), environment.driver.name, { volumeBindingMode: 'WaitForFirstConsumer' }),
    ),
  );
}

export async function removeSegments(environment: BenchEnvironment, segments: number): Promise<void> {
  const { api } = environment.cluster;
  await inParallel(Array(classCount).keys(), concurrency, (n) =>
    api.delete(storageClasses, { name: className(environment, n) }).catch(ignoreNotFound),
  );
  await removeDriverNodes(environment, segments);
}

export async function countObjects({ cluster, namespace }: BenchEnvironment): Promise<number> {
  const { items, remainingItemCount = 0 } = await cluster.api.list(csiStorageCapacities, { namespace, limit: 1 });
  return items.length + remainingItemCount;
}

/** A label of each node and each class that says nothing about capacity. */
export async function labelEverything(environment: BenchEnvironment, segments: number): Promise<void> {
  const { api } = environment.cluster;
  const body = { metadata: { labels: { 'example.com/feature': 'on' } } };
  const patch = (resource: Resource, name: string): Promise<unknown> =>
    api.patch({ resource, ref: { name } }, { type: 'merge', body });
  await inParallel(Array(segments).keys(), concurrency, (n) => patch(nodes, nodeName(environment, n)));
  await inParallel(Array(classCount).keys(), concurrency, (n) => patch(storageClasses, className(environment, n)));
}
