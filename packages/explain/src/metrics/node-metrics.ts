// SPDX-License-Identifier: Apache-2.0
/** `--node-metrics`: the metrics of the kubelet on the node that is waited for, through the API server. */
import { isDnsSubdomain } from '@csi-sidecars/volume';
import type { Reader } from '../cluster/reader.ts';
import type { Judged } from '../rows/judged.ts';
import { type NodeOperation, nodeOperationsOf } from './node-operations.ts';

export interface NodeMetrics {
  /** Undefined: nothing waits for a node, so that no kubelet was asked. */
  readonly node: string | undefined;
  /** Undefined: they could not be read. */
  readonly operations: readonly NodeOperation[] | undefined;
}

/** A kubelet with a thousand pods has less. */
const mostBytes = 8 * 1_024 * 1_024;

export async function nodeMetricsOf(reader: Reader, { verdict, driver }: Judged): Promise<NodeMetrics> {
  const { node } = verdict;
  // A name that is no name may lead to another path.
  if (node === undefined || driver === undefined || !isDnsSubdomain(node)) return { node: undefined, operations: [] };
  const found = nodeOperationsOf(driver);
  const facts = { resource: 'nodes/proxy', notKnown: `what the kubelet of ${node} has measured of ${driver}` };
  const read = await reader.lines(`/api/v1/nodes/${node}/proxy/metrics`, facts, {
    mostBytes,
    onLine: found.add,
    isExpected: found.isMetrics,
  });
  return { node, operations: read.kind === 'found' ? found.all() : undefined };
}
