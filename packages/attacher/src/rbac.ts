// SPDX-License-Identifier: Apache-2.0
/** The permissions the program uses: never a verb more than upstream's stock roles give. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** When the rule is needed; absent: always. */
  readonly when?: string;
}

/** ClusterRole. */
export const clusterRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'], when: 'a volume names a controller publish secret' },
];

/** Role in the namespace of the lease. */
export const namespaceRules: readonly PolicyRule[] = [
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    verbs: ['get', 'watch', 'list', 'delete', 'update', 'create'],
    when: '--leader-election',
  },
];
