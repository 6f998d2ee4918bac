// SPDX-License-Identifier: Apache-2.0
/** Nodes, and the drivers that kubelet has registered on them. */
import { type CSINode, csiNodes, type Node, nodes } from '@csi-sidecars/runtime';
import { driversOn } from '@csi-sidecars/volume';
import { createdMs, nameOf, timeOf } from '../../facts/objects.ts';
import { reducedSource, type Source } from './source.ts';
import type { Registration, NodeFacts } from './facts.ts';

export const registrationSource: Source<readonly Registration[]> = reducedSource(csiNodes, (csiNode: CSINode) => ({
  node: nameOf(csiNode),
  createdMs: createdMs(csiNode),
  drivers: driversOn(csiNode).map(({ name, nodeID, topologyKeys, allocatable }) => ({
    name,
    nodeId: nodeID,
    keys: (topologyKeys as readonly string[] | null | undefined) ?? [],
    count: allocatable?.count,
  })),
}));

export const nodeSource: Source<readonly NodeFacts[]> = reducedSource(nodes, (node: Node) => {
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    name: nameOf(node),
    labels: node.metadata?.labels ?? {},
    isReady: ready?.status === 'True',
    readySinceMs: timeOf(ready?.lastTransitionTime),
    heartbeatMs: timeOf(ready?.lastHeartbeatTime),
    kubelet: node.status?.nodeInfo?.kubeletVersion,
  };
});
