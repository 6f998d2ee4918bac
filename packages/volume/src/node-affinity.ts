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

type Term = NonNullable<VolumeNodeAffinity['required']>['nodeSelectorTerms'][number];
type Requirement = NonNullable<Term['matchExpressions']>[number];

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
  return terms.some(({ matchExpressions = [], matchFields = [] }) => {
    const isEmpty = matchExpressions.length === 0 && matchFields.length === 0;
    return (
      !isEmpty &&
      matchExpressions.every((requirement) => isMet(requirement, segments[requirement.key])) &&
      matchFields.every((requirement) => isMet(requirement, requirement.key === 'metadata.name' ? '' : undefined))
    );
  });
}

function isMet({ operator, values = [] }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return compared(value, values) > 0;
    case 'Lt':
      return compared(value, values) < 0;
    default:
      return false;
  }
}

/** 0 if one of the two is not a whole number. */
function compared(value: string | undefined, [limit]: readonly string[]): number {
  const [left, right] = [value ?? '', limit ?? ''];
  const isNumber = /^[+-]?[0-9]+$/;
  if (!isNumber.test(left) || !isNumber.test(right)) return 0;
  return Number(left) - Number(right);
}
