// SPDX-License-Identifier: Apache-2.0
/** One rule of a Role or ClusterRole, as RBAC has it. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  /** `persistentvolumeclaims/status` for a sub-resource; `*` for all. */
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** The rule of a Role in this namespace; without one, of a ClusterRole. */
export interface PlacedRule extends PolicyRule {
  readonly namespace?: string | undefined;
}

/** What a program uses, as a rule that allows no more. */
export interface UsedRule<Fact extends string = string> extends PolicyRule {
  /** When it is needed; absent: always. */
  readonly when?: RuleCondition<Fact>;
  /** What happens without it, as the end of a line of the log: no capital, no full stop. A command has none: its error says it. */
  readonly without?: string;
}

/** A condition as a value: pages print its text, programs evaluate its facts. */
export interface RuleCondition<Fact extends string = string> {
  readonly text: string;
  /** What has to hold at the start, all of it. `unknown`: it depends on objects that may come later. */
  readonly facts: readonly Fact[] | 'unknown';
}

/** The rule of a program that looks at its start whether it has the right. */
export interface CheckedRule<Fact extends string = string> extends UsedRule<Fact> {
  readonly without: string;
}

/** The rules that are needed for certain when these facts are known. */
export function neededRules<Fact extends string>(
  rules: readonly CheckedRule<Fact>[],
  facts: Readonly<Record<Fact, boolean>>,
): readonly CheckedRule<Fact>[] {
  return rules.filter(({ when }) => {
    if (when === undefined) return true;
    return when.facts !== 'unknown' && when.facts.every((fact) => facts[fact]);
  });
}

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
