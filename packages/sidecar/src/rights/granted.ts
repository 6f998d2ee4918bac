// SPDX-License-Identifier: Apache-2.0
/** Whether rules of RBAC, as a SelfSubjectRulesReview shows them, grant a right. */
import type { WantedRight } from './wanted.ts';

/** A rule as the API server answers it. Each list may be missing or be no list at all. */
export interface ShownRule {
  readonly verbs?: unknown;
  readonly apiGroups?: unknown;
  readonly resources?: unknown;
  readonly resourceNames?: unknown;
}

/** Those of the wanted rights that no rule grants. Rules about paths that are no resources play no part. */
export function notGranted(wanted: readonly WantedRight[], rules: readonly unknown[]): readonly WantedRight[] {
  let open = wanted;
  for (const rule of rules) {
    if (open.length === 0) break;
    if (isRule(rule)) open = open.filter((right) => !grants(rule, right));
  }
  return open;
}

function isRule(value: unknown): value is ShownRule {
  return typeof value === 'object' && value !== null;
}

/** As the authorizer of RBAC decides. */
function grants(rule: ShownRule, { verb, group, resource, name }: WantedRight): boolean {
  return (
    has(rule.verbs, verb, '*') &&
    has(rule.apiGroups, group, '*') &&
    has(rule.resources, resource, '*', allOfSubresource(resource)) &&
    coversNames(rule.resourceNames, name)
  );
}

/** In a rule, a star in front of a sub-resource means that of every resource. */
function allOfSubresource(resource: string): string | undefined {
  const slash = resource.indexOf('/');
  return slash < 0 ? undefined : `*${resource.slice(slash)}`;
}

function coversNames(names: unknown, name: string | undefined): boolean {
  if (!Array.isArray(names) || names.length === 0) return true;
  return name !== undefined && names.includes(name);
}

function has(list: unknown, ...any: readonly (string | undefined)[]): boolean {
  return Array.isArray(list) && any.some((value) => value !== undefined && list.includes(value));
}
