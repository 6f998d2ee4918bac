// SPDX-License-Identifier: Apache-2.0
/**
 * ServiceAccounts, their tokens and their rights on a simulated control plane: the same RBAC objects that a real one gets are
 * stored, and read whenever a token asks for something.
 */
import { randomUUID } from 'node:crypto';
import type { Resource } from '@csi-sidecars/runtime';
import type { AccessRule, Authenticate, ObjectView, ResourceType } from '@csi-sidecars/runtime/testing';
import type { RbacObject } from '../../rbac/profiles.ts';
import type { ServiceAccountRef } from '../control-plane.ts';

const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', status: 'absent' } as const;
const serviceAccounts: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
  namespaced: true,
  status: 'absent',
};
const roles: ResourceType = { ...rbac, plural: 'roles', kind: 'Role', namespaced: true };
const roleBindings: ResourceType = { ...rbac, plural: 'rolebindings', kind: 'RoleBinding', namespaced: true };
const clusterRoles: ResourceType = { ...rbac, plural: 'clusterroles', kind: 'ClusterRole', namespaced: false };
const clusterRoleBindings: ResourceType = {
  ...rbac,
  plural: 'clusterrolebindings',
  kind: 'ClusterRoleBinding',
  namespaced: false,
};

export const accountTypes: readonly ResourceType[] = [
  serviceAccounts,
  roles,
  roleBindings,
  clusterRoles,
  clusterRoleBindings,
];

export interface Accounts {
  readonly tokenFor: (account: ServiceAccountRef) => string;
  readonly authenticate: Authenticate;
}

/** `adminToken` has all rights; without a token nobody has any. */
export function createAccounts(objects: () => ObjectView, adminToken: string): Accounts {
  const owners = new Map<string, ServiceAccountRef>();
  return {
    tokenFor: (account) => {
      const { namespace, name } = account;
      if (objects().get(serviceAccounts, account) === undefined) throw new Error(`no account ${namespace}/${name}`);
      const token = randomUUID();
      owners.set(token, account);
      return token;
    },
    authenticate: ({ token }) => {
      if (token === adminToken) return { user: 'admin', rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] };
      if (token === undefined) return { user: 'system:anonymous', rules: [] };
      const owner = owners.get(token);
      if (owner === undefined) return undefined;
      return { user: `system:serviceaccount:${owner.namespace}:${owner.name}`, rules: rulesOf(objects(), owner) };
    },
  };
}

function rulesOf(objects: ObjectView, account: ServiceAccountRef): readonly AccessRule[] {
  const list = (resource: Resource): readonly RbacObject[] =>
    objects.list(resource) as unknown as readonly RbacObject[];
  const binds = ({ subjects = [] }: RbacObject): boolean =>
    subjects.some(({ kind, name, namespace }) => {
      return kind === 'ServiceAccount' && name === account.name && namespace === account.namespace;
    });
  const bound = (bindings: Resource): readonly RbacObject[] => list(bindings).filter(binds);
  const roleOf = ({ roleRef, metadata }: RbacObject): RbacObject | undefined =>
    roleRef?.kind === 'Role'
      ? list(roles).find(
          (role) => role.metadata.name === roleRef.name && role.metadata.namespace === metadata.namespace,
        )
      : list(clusterRoles).find((role) => role.metadata.name === roleRef?.name);
  return [
    ...bound(clusterRoleBindings).flatMap((binding) => roleOf(binding)?.rules ?? []),
    ...bound(roleBindings).flatMap((binding) => {
      const { namespace } = binding.metadata;
      return (roleOf(binding)?.rules ?? []).map((rule) => ({ ...rule, ...(namespace !== undefined && { namespace }) }));
    }),
  ];
}
