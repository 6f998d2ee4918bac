// SPDX-License-Identifier: Apache-2.0
/**
 * The tables of the programs have a rule for each consequence of a missing right. Roles and the page of permissions have one for each
 * resource, with all its verbs.
 */
import type { PolicyRule } from '@csi-sidecars/runtime';

/** Joins rules that are alike in all but their verbs, at the place of the first one. Each list of verbs is in the usual order. */
export function mergedRules<Rule extends PolicyRule>(rules: readonly Rule[]): readonly Rule[] {
  const alike = Map.groupBy(rules, likeness);
  return [...alike.values()].map((same) => ({ ...same[0]!, verbs: inOrder(same.flatMap(({ verbs }) => verbs)) }));
}

/** What two rules must have in common: everything but the verbs and the consequence. */
function likeness(rule: PolicyRule & { readonly without?: string }): string {
  const { verbs: _, without: _without, ...rest } = rule;
  return JSON.stringify(Object.entries(rest).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const order = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];

function inOrder(verbs: readonly string[]): readonly string[] {
  return [...new Set(verbs)].toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
}
