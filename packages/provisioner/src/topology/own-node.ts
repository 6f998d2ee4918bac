// SPDX-License-Identifier: Apache-2.0
/**
 * The cluster as an instance of one node sees it: that node, with the topology that its driver reported at the start. No node is watched,
 * so that the changes of thousands of nodes do not reach thousands of instances.
 */
import type { CSINode, Node } from '@csi-sidecars/runtime';
import type { NodeDeployment } from '../settings.ts';
import type { ClusterTopology } from './requirement.ts';
import { type Segments, toSegments } from './segments.ts';
import { toTerm } from './terms.ts';

export function ownNodeTopology(
  { name, id, segments = {} }: Pick<NodeDeployment, 'name' | 'id' | 'segments'>,
  driverName: string,
): ClusterTopology {
  const drivers = [{ name: driverName, nodeID: id, topologyKeys: Object.keys(segments) }];
  const csiNode: CSINode = { metadata: { name }, spec: { drivers } };
  const node: Node = { metadata: { name, labels: segments } };
  return {
    csiNode: (wanted) => (wanted === name ? csiNode : undefined),
    csiNodes: () => [csiNode],
    node: (wanted) => (wanted === name ? node : undefined),
  };
}

/** The segment of the node: the empty one, which stands for every node, if the driver reports no topology. */
export function ownSegments({ segments = {} }: Pick<NodeDeployment, 'segments'>): Segments {
  return toSegments([toTerm(Object.entries(segments))]);
}
