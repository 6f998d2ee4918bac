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
export interface UsedRule extends PolicyRule {
  /** When it is needed; absent: always. */
  readonly when?: string;
}
