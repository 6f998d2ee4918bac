// SPDX-License-Identifier: Apache-2.0
/**
 * The permissions that the program uses: no verb beyond upstream's stock roles, except those that the roles lack. The permissions of leader
 * election are in the runtime.
 */
import type { UsedRule } from '@csi-sidecars/runtime';

/** For a ClusterRole. */
export const clusterRules: readonly UsedRule[] = [
  {
    apiGroups: [''],
    resources: ['persistentvolumes'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'watch', 'update'] },
  { apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'], when: 'a class names a provisioner secret' },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['volumeattributesclasses'],
    verbs: ['get'],
    when: 'a claim names a VolumeAttributesClass',
  },
  {
    apiGroups: ['snapshot.storage.k8s.io'],
    resources: ['volumesnapshots'],
    verbs: ['get', 'update'],
    when: 'the driver has CREATE_DELETE_SNAPSHOT',
  },
  {
    apiGroups: ['snapshot.storage.k8s.io'],
    resources: ['volumesnapshots'],
    verbs: ['list', 'watch'],
    when: 'the driver has CREATE_DELETE_SNAPSHOT and --snapshot-orphan-sweep-interval is not 0',
  },
  {
    apiGroups: ['snapshot.storage.k8s.io'],
    resources: ['volumesnapshotcontents'],
    verbs: ['get'],
    when: 'the driver has CREATE_DELETE_SNAPSHOT',
  },
  {
    apiGroups: ['gateway.networking.k8s.io'],
    resources: ['referencegrants'],
    verbs: ['list', 'watch'],
    when: '--feature-gates=CrossNamespaceVolumeDataSource=true',
  },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['csinodes'],
    verbs: ['list', 'watch'],
    when: 'no --node-deployment; the driver has VOLUME_ACCESSIBILITY_CONSTRAINTS, or --enable-capacity is set',
  },
  {
    apiGroups: [''],
    resources: ['nodes'],
    verbs: ['list', 'watch'],
    when: 'no --node-deployment; the driver has VOLUME_ACCESSIBILITY_CONSTRAINTS, or --enable-capacity is set',
  },
  {
    apiGroups: [''],
    resources: ['nodes'],
    verbs: ['get'],
    when: '--node-deployment, and a claim has the provisioning finalizer of another node',
  },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['volumeattachments'],
    verbs: ['list', 'watch'],
    when: 'the driver has PUBLISH_UNPUBLISH_VOLUME',
  },
];

/** For a Role in the namespace of the environment variable NAMESPACE. */
export const namespaceRules: readonly UsedRule[] = [
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['csistoragecapacities'],
    verbs: ['list', 'watch', 'create', 'update', 'delete'],
    when: '--enable-capacity is set',
  },
  {
    apiGroups: [''],
    resources: ['pods'],
    verbs: ['get'],
    when: '--enable-capacity is set and --capacity-ownerref-level is not negative',
  },
  {
    apiGroups: ['apps'],
    resources: ['replicasets'],
    verbs: ['get'],
    when: '--enable-capacity is set, --capacity-ownerref-level is 2, and a Deployment owns the Pod',
  },
];
