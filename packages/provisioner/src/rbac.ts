// SPDX-License-Identifier: Apache-2.0
/** The permissions the program uses: never a verb more than upstream's stock roles give, plus what those forgot. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** When the rule is needed; absent: always. */
  readonly when?: string;
}

/** ClusterRole. */
export const clusterRules: readonly PolicyRule[] = [
  {
    apiGroups: [''],
    resources: ['persistentvolumes'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'watch', 'update'] },
  { apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['events'], verbs: ['list', 'watch', 'create', 'update', 'patch'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'], when: 'a class names a provisioner secret' },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['volumeattributesclasses'],
    verbs: ['get'],
    when: 'a claim names a VolumeAttributesClass (missing from the stock role)',
  },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['csinodes'],
    verbs: ['get', 'list', 'watch'],
    when: 'the driver has VOLUME_ACCESSIBILITY_CONSTRAINTS',
  },
  {
    apiGroups: [''],
    resources: ['nodes'],
    verbs: ['get', 'list', 'watch'],
    when: 'the driver has VOLUME_ACCESSIBILITY_CONSTRAINTS',
  },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['volumeattachments'],
    verbs: ['get', 'list', 'watch'],
    when: 'the driver has PUBLISH_UNPUBLISH_VOLUME',
  },
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
