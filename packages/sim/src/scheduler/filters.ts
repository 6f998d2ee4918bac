// SPDX-License-Identifier: Apache-2.0
/** Which nodes are suitable for a pod and its volumes. Pure. */
import { parseQuantity } from '@csi-sidecars/runtime/testing';
import type { CSIStorageCapacity, Node, Pod, StorageClass } from '@csi-sidecars/runtime';
import { matchesLabels, matchesNode, matchesTerms } from '../volume-binding/selectors.ts';
import type { NodeFacts, PodClaim, ScheduleState } from './state.ts';

export function filterNodes(state: ScheduleState, waiting: readonly PodClaim[]): readonly Node[] {
  return state.nodes
    .filter(
      (facts) =>
        isOpen(facts.node, state.pod) &&
        state.claims.every(({ volume }) => volume === undefined || matchesNode(volume, facts.node)) &&
        waiting.every((each) => canProvision(state, each, facts.node)) &&
        hasRoom(state, waiting, facts),
    )
    .map(({ node }) => node);
}

function isOpen(node: Node, pod: Pod): boolean {
  if (node.spec?.unschedulable === true || node.metadata?.deletionTimestamp !== undefined) return false;
  const tolerated = (node.spec?.taints ?? []).every(
    (taint) => taint.effect === 'PreferNoSchedule' || tolerates(pod, taint),
  );
  const labels = node.metadata?.labels ?? {};
  const terms = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return (
    tolerated &&
    matchesLabels({ matchLabels: pod.spec?.nodeSelector ?? {} }, labels) &&
    (terms === undefined || matchesTerms(terms, node))
  );
}

function tolerates(
  pod: Pod,
  taint: { readonly key: string; readonly value?: string; readonly effect: string },
): boolean {
  return (pod.spec?.tolerations ?? []).some(({ key = '', operator = 'Equal', value = '', effect = '' }) => {
    const sameKey = key === '' ? operator === 'Exists' : key === taint.key;
    const sameValue = operator === 'Exists' || value === (taint.value ?? '');
    return sameKey && sameValue && (effect === '' || effect === taint.effect);
  });
}

function canProvision(state: ScheduleState, { claim, storageClass }: PodClaim, node: Node): boolean {
  if (storageClass === undefined || !isAllowedTopology(storageClass, node)) return false;
  const driver = state.drivers.find(({ metadata }) => metadata?.name === storageClass.provisioner);
  if (driver?.spec.storageCapacity !== true) return true;
  const wanted = parseQuantity(claim?.spec?.resources?.requests?.['storage'])?.nanos ?? 0n;
  return state.capacities.some(
    (capacity) => capacity.storageClassName === storageClass.metadata?.name && offers(capacity, node, wanted),
  );
}

function isAllowedTopology({ allowedTopologies = [] }: StorageClass, node: Node): boolean {
  if (allowedTopologies.length === 0) return true;
  const labels = node.metadata?.labels ?? {};
  return allowedTopologies.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => values.includes(labels[key] ?? '')),
  );
}

/** Without a topology the capacity is accessible from no node. */
function offers(capacity: CSIStorageCapacity, node: Node, wanted: bigint): boolean {
  if (capacity.nodeTopology === undefined || !matchesLabels(capacity.nodeTopology, node.metadata?.labels ?? {}))
    return false;
  const limit = parseQuantity(capacity.maximumVolumeSize ?? capacity.capacity)?.nanos ?? 0n;
  return limit >= wanted;
}

/** The volumes limit that each driver announced in the CSINode. */
function hasRoom(state: ScheduleState, waiting: readonly PodClaim[], facts: NodeFacts): boolean {
  return (facts.csiNode?.spec.drivers ?? []).every(({ name, allocatable }) => {
    if (allocatable?.count === undefined) return true;
    const handles = new Set(facts.used.get(name) ?? []);
    for (const { volume } of state.claims) {
      if (volume?.spec?.csi?.driver === name) handles.add(volume.spec.csi.volumeHandle);
    }
    const added = waiting.filter(({ storageClass }) => storageClass?.provisioner === name).length;
    return handles.size + added <= allocatable.count;
  });
}
