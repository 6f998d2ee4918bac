// SPDX-License-Identifier: Apache-2.0
/**
 * Authorization by the RBAC objects that the server itself stores. A caller without a token is the administrator; a token
 * of a ServiceAccount has exactly the rules of its bindings; any other token is refused.
 */
import type { KubeObject, Resource } from '@csi-sidecars/runtime';
import type { AccessRule, Authenticate, ObjectView, Subject } from '@csi-sidecars/runtime/testing';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from './plain-types.ts';
import type { AccountRef, Tokens } from './tokens.ts';

interface Role extends KubeObject {
  readonly rules?: readonly Partial<AccessRule>[];
}

interface Binding extends KubeObject {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

const administrator: Subject = {
  user: 'system:admin',
  rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
};

export function createAuthenticate(tokens: Tokens, objects: () => ObjectView): Authenticate {
  return ({ token }) => {
    if (token === undefined) return administrator;
    const account = tokens.accountOf(token);
    return account === undefined ? undefined : subjectFor(account, objects());
  };
}

function subjectFor(account: AccountRef, objects: ObjectView): Subject {
  const everywhere = objects.list(holding<Binding>(clusterRoleBindings)).filter((binding) => binds(binding, account));
  const here = objects.list(holding<Binding>(roleBindings)).filter((binding) => binds(binding, account));
  return {
    user: `system:serviceaccount:${account.namespace}:${account.name}`,
    rules: [
      ...everywhere.flatMap((binding) => rulesOf(binding, objects)),
      ...here.flatMap((binding) => {
        const namespace = binding.metadata?.namespace ?? '';
        return rulesOf(binding, objects).map((rule) => ({ ...rule, namespace }));
      }),
    ],
  };
}

function binds({ subjects = [] }: Binding, account: AccountRef): boolean {
  const groups = ['system:authenticated', 'system:serviceaccounts', `system:serviceaccounts:${account.namespace}`];
  return subjects.some(({ kind, name, namespace }) =>
    kind === 'Group' ? groups.includes(name) : name === account.name && namespace === account.namespace,
  );
}

function rulesOf(binding: Binding, objects: ObjectView): readonly AccessRule[] {
  const { kind, name } = binding.roleRef;
  const role =
    kind === 'ClusterRole'
      ? objects.get(holding<Role>(clusterRoles), { name })
      : objects.get(holding<Role>(roles), { name, namespace: binding.metadata?.namespace });
  return (role?.rules ?? []).map((rule) => ({ apiGroups: [], resources: [], verbs: [], ...rule }));
}

/** The kind with the type of its objects. */
function holding<T extends KubeObject>({ group, version, plural, kind, namespaced }: Resource): Resource<T> {
  return { group, version, plural, kind, namespaced };
}
