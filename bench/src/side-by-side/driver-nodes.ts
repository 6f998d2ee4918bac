// SPDX-License-Identifier: Apache-2.0
/** Nodes of the driver of one test bed, each with a segment of its own. No kubelet runs on them. */
import { csiNodes, ignoreNotFound, nodes } from '@csi-sidecars/runtime';
import { inParallel } from './in-parallel.ts';
import type { TestBed } from './test-bed.ts';

const segmentKey = 'bench.csi.test/segment';
const concurrency = 32;

export const nodeName = ({ namespace }: TestBed, n: number): string => `${namespace}-node-${n}`;

/** Flags of the driver: it has that many nodes. */
export function driverNodeFlags(count: number): readonly string[] {
  return [
    '--enable-topology=true',
    ...Array.from({ length: count }, (_, n) => `--node=id=node-${n},${segmentKey}=s-${n}`),
  ];
}

export async function createDriverNodes(bed: TestBed, count: number): Promise<void> {
  const { api } = bed.cluster;
  await inParallel(Array(count).keys(), concurrency, async (n) => {
    const name = nodeName(bed, n);
    await api.create(nodes, { metadata: { name, labels: { [segmentKey]: `s-${n}` } } });
    const driver = { name: bed.driver.name, nodeID: `node-${n}`, topologyKeys: [segmentKey] };
    await api.create(csiNodes, { metadata: { name }, spec: { drivers: [driver] } });
  });
}

/** The next test bed must not watch them. */
export async function removeDriverNodes(bed: TestBed, count: number): Promise<void> {
  const { api } = bed.cluster;
  await inParallel(Array(count).keys(), concurrency, async (n) => {
    const ref = { name: nodeName(bed, n) };
    await api.delete(csiNodes, ref).catch(ignoreNotFound);
    await api.delete(nodes, ref).catch(ignoreNotFound);
  });
}
