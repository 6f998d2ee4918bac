// SPDX-License-Identifier: Apache-2.0
/** The kinds of most operators, beside those of storage in `resource.ts`. */
import type {
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1ConfigMap,
  V1CronJob,
  V1CustomResourceDefinition,
  V1DaemonSet,
  V1Deployment,
  V1EndpointSlice,
  V1Ingress,
  V1Job,
  V1NetworkPolicy,
  V1PodDisruptionBudget,
  V1ReplicaSet,
  V1Role,
  V1RoleBinding,
  V1Service,
  V1ServiceAccount,
  V1StatefulSet,
  V1SubjectAccessReview,
} from '@kubernetes/client-node';
import type { Wire } from './objects.ts';
import type { Resource } from './resource.ts';

export type ConfigMap = Wire<V1ConfigMap>;
export type Service = Wire<V1Service>;
export type ServiceAccount = Wire<V1ServiceAccount>;
export type Deployment = Wire<V1Deployment>;
export type StatefulSet = Wire<V1StatefulSet>;
export type DaemonSet = Wire<V1DaemonSet>;
export type ReplicaSet = Wire<V1ReplicaSet>;
export type Job = Wire<V1Job>;
export type CronJob = Wire<V1CronJob>;
export type Ingress = Wire<V1Ingress>;
export type NetworkPolicy = Wire<V1NetworkPolicy>;
export type EndpointSlice = Wire<V1EndpointSlice>;
export type PodDisruptionBudget = Wire<V1PodDisruptionBudget>;
export type ClusterRole = Wire<V1ClusterRole>;
export type ClusterRoleBinding = Wire<V1ClusterRoleBinding>;
export type Role = Wire<V1Role>;
export type RoleBinding = Wire<V1RoleBinding>;
export type CustomResourceDefinition = Wire<V1CustomResourceDefinition>;
export type SubjectAccessReview = Wire<V1SubjectAccessReview>;

export const configMaps: Resource<ConfigMap> = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};
export const services: Resource<Service> = {
  group: '',
  version: 'v1',
  plural: 'services',
  kind: 'Service',
  namespaced: true,
};
export const serviceAccounts: Resource<ServiceAccount> = {
  group: '',
  version: 'v1',
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
  namespaced: true,
};
export const deployments: Resource<Deployment> = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
};
export const statefulSets: Resource<StatefulSet> = {
  group: 'apps',
  version: 'v1',
  plural: 'statefulsets',
  kind: 'StatefulSet',
  namespaced: true,
};
export const daemonSets: Resource<DaemonSet> = {
  group: 'apps',
  version: 'v1',
  plural: 'daemonsets',
  kind: 'DaemonSet',
  namespaced: true,
};
export const replicaSets: Resource<ReplicaSet> = {
  group: 'apps',
  version: 'v1',
  plural: 'replicasets',
  kind: 'ReplicaSet',
  namespaced: true,
};
export const jobs: Resource<Job> = { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true };
export const cronJobs: Resource<CronJob> = {
  group: 'batch',
  version: 'v1',
  plural: 'cronjobs',
  kind: 'CronJob',
  namespaced: true,
};
export const ingresses: Resource<Ingress> = {
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'ingresses',
  kind: 'Ingress',
  namespaced: true,
};
export const networkPolicies: Resource<NetworkPolicy> = {
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'networkpolicies',
  kind: 'NetworkPolicy',
  namespaced: true,
};
export const endpointSlices: Resource<EndpointSlice> = {
  group: 'discovery.k8s.io',
  version: 'v1',
  plural: 'endpointslices',
  kind: 'EndpointSlice',
  namespaced: true,
};
export const podDisruptionBudgets: Resource<PodDisruptionBudget> = {
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
  kind: 'PodDisruptionBudget',
  namespaced: true,
};
export const clusterRoles: Resource<ClusterRole> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'clusterroles',
  kind: 'ClusterRole',
  namespaced: false,
};
export const clusterRoleBindings: Resource<ClusterRoleBinding> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'clusterrolebindings',
  kind: 'ClusterRoleBinding',
  namespaced: false,
};
export const roles: Resource<Role> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'roles',
  kind: 'Role',
  namespaced: true,
};
export const roleBindings: Resource<RoleBinding> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'rolebindings',
  kind: 'RoleBinding',
  namespaced: true,
};
export const customResourceDefinitions: Resource<CustomResourceDefinition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
export const subjectAccessReviews: Resource<SubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};
