// SPDX-License-Identifier: Apache-2.0
/** The rights of the example, as the README of the runtime names them: ConfigMaps everywhere, the lease in its own namespace. */
import { type KubeObject, leaseRules, type PolicyRule, type Resource } from '@csi-sidecars/runtime';
import type { ServiceAccountRef } from '../control-planes/control-plane.ts';

const rbac = 'rbac.authorization.k8s.io';
const resourceOf = (group: string, plural: string, kind: string): Resource => ({
  group,
  version: 'v1',
  plural,
  kind,
  namespaced: kind === 'Role' || kind === 'RoleBinding' || kind === 'ServiceAccount',
});

export function rolesOfExample(account: ServiceAccountRef): readonly {
  readonly resource: Resource;
  readonly object: KubeObject;
}[] {
  const { namespace, name } = account;
  const everywhere: readonly PolicyRule[] = [
    { apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch', 'patch'] },
  ];
  const lease = leaseRules.map(({ apiGroups, resources, verbs }): PolicyRule => ({ apiGroups, resources, verbs }));
  const object = (kind: string, fields: object): KubeObject => ({
    apiVersion: kind === 'ServiceAccount' ? 'v1' : `${rbac}/v1`,
    kind,
    metadata: kind.startsWith('Cluster') ? { name } : { name, namespace },
    ...fields,
  });
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  const roleRef = (kind: string) => ({ apiGroup: rbac, kind, name });
  return [
    { resource: resourceOf('', 'serviceaccounts', 'ServiceAccount'), object: object('ServiceAccount', {}) },
    { resource: resourceOf(rbac, 'clusterroles', 'ClusterRole'), object: object('ClusterRole', { rules: everywhere }) },
    {
      resource: resourceOf(rbac, 'clusterrolebindings', 'ClusterRoleBinding'),
      object: object('ClusterRoleBinding', { subjects, roleRef: roleRef('ClusterRole') }),
    },
    { resource: resourceOf(rbac, 'roles', 'Role'), object: object('Role', { rules: lease }) },
    {
      resource: resourceOf(rbac, 'rolebindings', 'RoleBinding'),
      object: object('RoleBinding', { subjects, roleRef: roleRef('Role') }),
    },
  ];
}
