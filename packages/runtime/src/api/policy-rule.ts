// SPDX-License-Identifier: Apache-2.0
/** One rule of a Role or ClusterRole, as RBAC has it. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  /** `persistentvolumeclaims/status` for a sub-resource; `*` for all. */
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
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
