// SPDX-License-Identifier: Apache-2.0
/** The permissions that `csi-sidecars doctor` uses. Each of them may be missing: then the checks that need it are not run. */
import type { UsedRule } from '@csi-sidecars/runtime';
import { viaPodRule } from '../command/rbac.ts';

export const doctorRules: readonly UsedRule[] = [
  {
    apiGroups: ['storage.k8s.io'],
    resources: [
      'csidrivers',
      'csinodes',
      'csistoragecapacities',
      'storageclasses',
      'volumeattachments',
      'volumeattributesclasses',
    ],
    verbs: ['list'],
  },
  {
    apiGroups: [''],
    resources: ['events', 'nodes', 'persistentvolumeclaims', 'persistentvolumes', 'pods'],
    verbs: ['list'],
  },
  { apiGroups: ['apps'], resources: ['daemonsets', 'deployments', 'statefulsets'], verbs: ['list'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['list'] },
  {
    apiGroups: ['snapshot.storage.k8s.io'],
    resources: ['volumesnapshotclasses', 'volumesnapshotcontents', 'volumesnapshots'],
    verbs: ['list'],
  },
  {
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'],
    verbs: ['list'],
  },
  {
    apiGroups: ['admissionregistration.k8s.io'],
    resources: ['validatingwebhookconfigurations'],
    verbs: ['list'],
  },
  { apiGroups: ['cbt.storage.k8s.io'], resources: ['snapshotmetadataservices'], verbs: ['list'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get'] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get'] },
  {
    apiGroups: [''],
    resources: ['secrets'],
    verbs: ['get'],
    when: { text: 'a class names a secret; only whether it exists is asked', facts: 'unknown' },
  },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  viaPodRule,
];
