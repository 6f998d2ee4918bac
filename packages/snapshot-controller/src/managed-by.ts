// SPDX-License-Identifier: Apache-2.0
/** The node whose csi-snapshotter can reach a volume. Pure. */
import type { Node, PersistentVolume } from '@csi-sidecars/runtime';

type Affinity = NonNullable<NonNullable<PersistentVolume['spec']>['nodeAffinity']>;
type Term = NonNullable<Affinity['required']>['nodeSelectorTerms'][number];
type Requirement = NonNullable<Term['matchExpressions']>[number];

/** The first of the matching nodes by name, so that each replica chooses the same. Empty: no affinity, or no node matches. */
export function managingNode(volume: PersistentVolume | undefined, nodes: readonly Node[]): string {
  const terms = volume?.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  if (terms.length === 0) return '';
  const matching = nodes.filter((node) => terms.some((term) => matches(term, node)));
  return matching.map(({ metadata }) => metadata?.name ?? '').toSorted()[0] ?? '';
}

/** A term without requirements matches nothing. */
function matches({ matchExpressions = [], matchFields = [] }: Term, { metadata }: Node): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((requirement) => meets(requirement, metadata?.labels?.[requirement.key])) &&
    matchFields.every((requirement) =>
      meets(requirement, requirement.key === 'metadata.name' ? metadata?.name : undefined),
    )
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
