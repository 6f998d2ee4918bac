// SPDX-License-Identifier: Apache-2.0
/** Nodes of the driver of one test environment, each with a segment of its own. No kubelet runs on them. */
import { inParallel } from '@csi-sidecars/e2e';
import { csiNodes, ignoreNotFound, nodes } from '@csi-sidecars/runtime';
import type { BenchEnvironment } from './environment.ts';

const segmentKey = 'bench.csi.test/segment';
const concurrency = 32;

export const nodeName = ({ namespace }: BenchEnvironment, n: number): string => `${namespace}-node-${n}`;

/** Flags of the driver: it has that many nodes. */
export function driverNodeFlags(count: number): readonly string[] {
  return [
    '--enable-topology=true',
    ...Array.from({ length: count }, (_, n) => `--node=id=node-${n},${segmentKey}=s-${n}`),
  ];
}

export async function createDriverNodes(environment: BenchEnvironment, count: number): Promise<void> {
  const { api } = environment.cluster;
  await inParallel(Array(count).keys(), concurrency, async (n) => {
    const name = nodeName(environment, n);
    await api.create(nodes, { metadata: { name, labels: { [segmentKey]: `s-${n}` } } });
    const driver = { name: environment.driver.name, nodeID: `node-${n}`, topologyKeys: [segmentKey] };
    await api.create(csiNodes, { metadata: { name }, spec: { drivers: [driver] } });
  });
}

/** The next test environment must not watch them. */
export async function removeDriverNodes(environment: BenchEnvironment, count: number): Promise<void> {
  const { api } = environment.cluster;
  await inParallel(Array(count).keys(), concurrency, async (n) => {
    const ref = { name: nodeName(environment, n) };
    await api.delete(csiNodes, ref).catch(ignoreNotFound);
    await api.delete(nodes, ref).catch(ignoreNotFound);
  });
}
