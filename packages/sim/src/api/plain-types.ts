// SPDX-License-Identifier: Apache-2.0
/**
 * Kinds that the simulated server only stores, because charts and manifests contain them. No controller
 * acts on them.
 */
import type { ResourceType } from '@csi-sidecars/runtime/testing';

type Row = readonly [kind: string, plural: string, ...shortNames: string[]];

const namespaced: Readonly<Record<string, readonly Row[]>> = {
  v1: [
    ['ConfigMap', 'configmaps', 'cm'],
    ['Endpoints', 'endpoints', 'ep'],
    ['Service', 'services', 'svc'],
    ['ServiceAccount', 'serviceaccounts', 'sa'],
  ],
  'apps/v1': [
    ['DaemonSet', 'daemonsets', 'ds'],
    ['Deployment', 'deployments', 'deploy'],
    ['ReplicaSet', 'replicasets', 'rs'],
    ['StatefulSet', 'statefulsets', 'sts'],
  ],
  'batch/v1': [['Job', 'jobs']],
  'networking.k8s.io/v1': [['NetworkPolicy', 'networkpolicies', 'netpol']],
  'policy/v1': [['PodDisruptionBudget', 'poddisruptionbudgets', 'pdb']],
  'rbac.authorization.k8s.io/v1': [
    ['Role', 'roles'],
    ['RoleBinding', 'rolebindings'],
  ],
};

const clusterScoped: Readonly<Record<string, readonly Row[]>> = {
  'admissionregistration.k8s.io/v1': [['ValidatingWebhookConfiguration', 'validatingwebhookconfigurations']],
  'rbac.authorization.k8s.io/v1': [
    ['ClusterRole', 'clusterroles'],
    ['ClusterRoleBinding', 'clusterrolebindings'],
  ],
  'scheduling.k8s.io/v1': [['PriorityClass', 'priorityclasses', 'pc']],
};

/** Roles have no status and their names may hold colons; workloads have both a status and a generation. */
const workloads: ReadonlySet<string> = new Set(['apps/v1', 'batch/v1']);

function toType(groupVersion: string, scope: 'namespaced' | 'cluster', row: Row): ResourceType {
  const [group, version] = groupVersion.includes('/') ? groupVersion.split('/') : ['', groupVersion];
  const [kind, plural, ...shortNames] = row;
  const active = workloads.has(groupVersion);
  return {
    group: group ?? '',
    version: version ?? '',
    plural,
    kind,
    namespaced: scope === 'namespaced',
    status: active ? 'withMetadata' : 'absent',
    ...(active ? { generation: true } : {}),
    ...(groupVersion.startsWith('rbac.') ? { names: 'path' } : {}),
    ...(shortNames.length === 0 ? {} : { shortNames }),
  };
}

export const plainTypes: readonly ResourceType[] = [
  ...Object.entries(namespaced).flatMap(([version, rows]) => rows.map((row) => toType(version, 'namespaced', row))),
  ...Object.entries(clusterScoped).flatMap(([version, rows]) => rows.map((row) => toType(version, 'cluster', row))),
];

function find(kind: string): ResourceType {
  const found = plainTypes.find((type) => type.kind === kind);
  if (found === undefined) throw new Error(`no plain type ${kind}`);
  return found;
}

export const serviceAccounts: ResourceType = find('ServiceAccount');
export const roles: ResourceType = find('Role');
export const roleBindings: ResourceType = find('RoleBinding');
export const clusterRoles: ResourceType = find('ClusterRole');
export const clusterRoleBindings: ResourceType = find('ClusterRoleBinding');
