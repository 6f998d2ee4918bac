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
    .map(({ segments = {} }) =>
      Object.keys(segments)
        .sort()
        .map((key) => ({ key, operator: 'In', values: [segments[key] ?? ''] })),
    )
    .filter((matchExpressions) => matchExpressions.length > 0)
    .map((matchExpressions) => ({ matchExpressions }));
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
  return segments === undefined || terms === undefined || selectsNode(terms, { labels: segments });
}
