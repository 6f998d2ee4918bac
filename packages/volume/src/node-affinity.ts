// SPDX-License-Identifier: Apache-2.0
/**
 * Translates the topologies of a driver's response into the node affinity of a PersistentVolume.
 * The response is not compared with the request: the driver decides.
 */
import type { PersistentVolume } from '@csi-sidecars/runtime';

export interface Topology {
  readonly segments?: Readonly<Record<string, string>> | undefined;
}

export type VolumeNodeAffinity = NonNullable<NonNullable<PersistentVolume['spec']>['nodeAffinity']>;

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
