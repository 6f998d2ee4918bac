// SPDX-License-Identifier: Apache-2.0
/**
 * The kinds of `common-resources.ts` for a fake API server, with no more of their strategies than where their status is written. No object of them is
 * validated, and no default is filled in.
 */
import {
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  cronJobs,
  customResourceDefinitions,
  daemonSets,
  deployments,
  endpointSlices,
  ingresses,
  jobs,
  networkPolicies,
  podDisruptionBudgets,
  replicaSets,
  roleBindings,
  roles,
  serviceAccounts,
  services,
  statefulSets,
} from '../../src/api/common-resources.ts';
import type { ResourceType } from './resource-type.ts';

export const commonTypes: readonly ResourceType[] = [
  { ...configMaps, shortNames: ['cm'], status: 'absent' },
  { ...services, shortNames: ['svc'], status: 'withMetadata' },
  { ...serviceAccounts, shortNames: ['sa'], status: 'absent' },
  { ...deployments, shortNames: ['deploy'], status: 'withMetadata', generation: true },
  { ...statefulSets, shortNames: ['sts'], status: 'withMetadata', generation: true },
  { ...daemonSets, shortNames: ['ds'], status: 'withMetadata', generation: true },
  { ...replicaSets, shortNames: ['rs'], status: 'withMetadata', generation: true },
  { ...jobs, status: 'withMetadata', generation: true },
  { ...cronJobs, shortNames: ['cj'], status: 'withMetadata', generation: true },
  { ...ingresses, shortNames: ['ing'], status: 'withMetadata', generation: true },
  { ...networkPolicies, shortNames: ['netpol'], status: 'absent', generation: true },
  { ...endpointSlices, status: 'absent' },
  { ...podDisruptionBudgets, shortNames: ['pdb'], status: 'withMetadata', generation: true },
  { ...clusterRoles, status: 'absent' },
  { ...clusterRoleBindings, status: 'absent' },
  { ...roles, status: 'absent' },
  { ...roleBindings, status: 'absent' },
  { ...customResourceDefinitions, shortNames: ['crd'], status: 'withMetadata', generation: true },
];
