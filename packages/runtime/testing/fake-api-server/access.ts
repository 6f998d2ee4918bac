// SPDX-License-Identifier: Apache-2.0
/** A small RBAC: the caller is identified by bearer token or user agent, and permissions are rules as in a ClusterRole. */
import { forbidden, Refusal } from './status.ts';
import type { PlacedRule } from '../../src/api/policy-rule.ts';
import type { Resource } from '../../src/api/resource.ts';
import type { Route } from './route.ts';

export type AccessRule = PlacedRule;

export interface Subject {
  readonly user: string;
  readonly rules: readonly AccessRule[];
  /**
   * Whether it may ask what it may do, which every account may by the role `system:basic-user`. `incomplete`: the authorizer cannot list
   * rules. Default `complete`.
   */
  readonly reviews?: 'complete' | 'incomplete' | 'forbidden';
}

export interface Caller {
  readonly userAgent: string;
  readonly token: string | undefined;
}

/** Identifies the caller. Undefined is answered with 401. */
export type Authenticate = (caller: Caller) => Subject | undefined;

export const everybodyIsAdmin: Authenticate = () => ({
  user: 'system:admin',
  rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
});

export function authorize(subject: Subject, route: Route): void {
  if (isReview(route) && subject.reviews !== 'forbidden') return;
  if (route.resource === '' || subject.rules.some((rule) => allows(rule, route))) return;
  const group: Resource = { group: route.group, version: '', plural: route.resource, kind: '', namespaced: false };
  const resource = route.subresource === undefined ? route.resource : `${route.resource}/${route.subresource}`;
  const scope = route.namespace === undefined ? 'at the cluster scope' : `in the namespace "${route.namespace}"`;
  const why = `User "${subject.user}" cannot ${route.verb} resource "${resource}" in API group "${route.group}" ${scope}`;
  throw forbidden(group, route.name ?? '', why);
}

type Action = Pick<Route, 'group' | 'resource' | 'subresource' | 'namespace' | 'name'> & { readonly verb: string };

/** It asks what its caller may do. */
export function isReview({ group, resource }: Pick<Route, 'group' | 'resource'>): boolean {
  const names = ['selfsubjectrulesreviews', 'selfsubjectaccessreviews'];
  return group === 'authorization.k8s.io' && names.includes(resource);
}

export function allows(rule: AccessRule, route: Action): boolean {
  const resource = route.subresource === undefined ? route.resource : `${route.resource}/${route.subresource}`;
  const has = (list: readonly string[], wanted: string): boolean => list.includes('*') || list.includes(wanted);
  return (
    has(rule.verbs, route.verb) &&
    has(rule.apiGroups, route.group) &&
    has(rule.resources, resource) &&
    (rule.namespace === undefined || rule.namespace === route.namespace) &&
    (rule.resourceNames === undefined || (route.name !== undefined && rule.resourceNames.includes(route.name)))
  );
}

export function unauthorized(): Refusal {
  return new Refusal({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' });
}
