// SPDX-License-Identifier: Apache-2.0
/** Label selectors and node affinity, as the binder and the scheduler evaluate them. Pure. */
import type { Node, PersistentVolume } from '@csi-sidecars/runtime';

type Labels = { readonly [key: string]: string };

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly Requirement[];
}

/** No selector selects everything. */
export function matchesLabels(selector: LabelSelector | undefined, labels: Labels): boolean {
  const equal = Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return equal && (selector?.matchExpressions ?? []).every((requirement) => meets(requirement, labels));
}

function meets({ key, operator, values = [] }: Requirement, labels: Labels): boolean {
  const value = labels[key];
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
      return value !== undefined && Number(value) > Number(values[0]);
    case 'Lt':
      return value !== undefined && Number(value) < Number(values[0]);
    default:
      return false;
  }
}

interface NodeSelectorTerm {
  readonly matchExpressions?: readonly Requirement[];
  readonly matchFields?: readonly Requirement[];
}

/** Terms are alternatives; a term without requirements matches nothing. */
export function matchesTerms(terms: readonly NodeSelectorTerm[], node: Node): boolean {
  const labels = node.metadata?.labels ?? {};
  const fields = { 'metadata.name': node.metadata?.name ?? '' };
  return terms.some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length + matchFields.length === 0) return false;
    return (
      matchExpressions.every((requirement) => meets(requirement, labels)) &&
      matchFields.every((requirement) => meets(requirement, fields))
    );
  });
}

/** Whether the volume can be reached from the node. */
export function matchesNode(volume: PersistentVolume, node: Node): boolean {
  const required = volume.spec?.nodeAffinity?.required;
  return required === undefined || matchesTerms(required.nodeSelectorTerms, node);
}
