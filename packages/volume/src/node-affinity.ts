// SPDX-License-Identifier: Apache-2.0
/**
 * Translates the topologies of a driver's response into the node affinity of a PersistentVolume.
 * The response is not compared with the request: the driver decides.
 */
import { selectsNode, type VolumeNodeAffinity } from './node-selector.ts';

export interface Topology {
  readonly segments?: Readonly<Record<string, string>> | undefined;
}

/** Undefined means reachable everywhere, which is also the meaning of a list without any segment. */
export function toNodeAffinity(topologies: readonly Topology[] | undefined): VolumeNodeAffinity | undefined {
  const nodeSelectorTerms = (topologies ?? [])
    .map((topology) => Object.entries(topology.segments ?? {}))
    .filter((segments) => segments.length > 0)
    .map((segments) => ({
      matchExpressions: segments
        .sort(([left], [right]) => (left < right ? -1 : 1))
        .map(([key, value]) => ({ key, operator: 'In', values: [value] })),
    }));
  return nodeSelectorTerms.length === 0 ? undefined : { required: { nodeSelectorTerms } };
}

/**
 * Whether a volume can be reached from a node that has only these labels, and no name. Undefined segments: the driver knows no topology,
 * and every volume can be reached.
 */
export function isReachableFrom(
  affinity: VolumeNodeAffinity | undefined,
  segments: Readonly<Record<string, string>> | undefined,
): boolean {
  const terms = affinity?.required?.nodeSelectorTerms;
  if (segments === undefined || affinity?.required === undefined || terms === undefined) return true;
  return selectsNode(terms, { name: '', labels: segments });
}
