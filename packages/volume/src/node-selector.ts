// SPDX-License-Identifier: Apache-2.0
/** Which nodes the terms of a node affinity select. Pure; the rules of Kubernetes' nodeaffinity package. */
import type { PersistentVolume } from '@csi-sidecars/runtime';

export type VolumeNodeAffinity = NonNullable<NonNullable<PersistentVolume['spec']>['nodeAffinity']>;
type Term = NonNullable<VolumeNodeAffinity['required']>['nodeSelectorTerms'][number];
type Requirement = NonNullable<Term['matchExpressions']>[number];

export interface SelectableNode {
  readonly name?: string | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
}

/** One matching term is enough. A term without requirements matches nothing. */
export function selectsNode(terms: readonly Term[], node: SelectableNode): boolean {
  return terms.some((term) => matches(term, node));
}

function matches({ matchExpressions = [], matchFields = [] }: Term, { name, labels }: SelectableNode): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((requirement) => meets(requirement, labels?.[requirement.key])) &&
    matchFields.every((requirement) => meets(requirement, requirement.key === 'metadata.name' ? name : undefined))
  );
}

function meets({ operator, values = [] }: Requirement, value: string | undefined): boolean {
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
    case 'Lt': {
      const [left, right] = [integer(value), integer(values[0])];
      if (left === undefined || right === undefined) return false;
      return operator === 'Gt' ? left > right : left < right;
    }
    default:
      return false;
  }
}

function integer(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[+-]?\d+$/.test(text) ? BigInt(text) : undefined;
}
