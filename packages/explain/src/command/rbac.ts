// SPDX-License-Identifier: Apache-2.0
/**
 * What explain reads. Each right that its user lacks leaves a part of the answer open; none is needed but `get` of the subject. Of secrets the
 * metadata are read.
 */
import type { UsedRule } from '@csi-sidecars/runtime';

const read = ['get', 'list'];

/** A port-forward by a WebSocket begins with a GET; from Kubernetes 1.35 on it needs the right to create one as well. */
export const viaPodRule: UsedRule = {
  apiGroups: [''],
  resources: ['pods/portforward'],
  verbs: ['get', 'create'],
  when: { text: '--via-pod', facts: 'unknown' },
};

export const explainRules: readonly UsedRule[] = [
  { apiGroups: [''], resources: ['persistentvolumeclaims', 'persistentvolumes', 'pods', 'nodes'], verbs: read },
  { apiGroups: [''], resources: ['namespaces', 'secrets'], verbs: ['get'] },
  { apiGroups: [''], resources: ['events'], verbs: ['list'] },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['storageclasses', 'csidrivers', 'csinodes', 'volumeattachments', 'csistoragecapacities'],
    verbs: read,
  },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattributesclasses'], verbs: ['get'] },
  {
    apiGroups: ['snapshot.storage.k8s.io'],
    resources: ['volumesnapshots', 'volumesnapshotcontents', 'volumesnapshotclasses'],
    verbs: read,
  },
  {
    apiGroups: ['groupsnapshot.storage.k8s.io'],
    resources: ['volumegroupsnapshots', 'volumegroupsnapshotcontents', 'volumegroupsnapshotclasses'],
    verbs: ['get'],
  },
  { apiGroups: ['populator.storage.k8s.io'], resources: ['volumepopulators'], verbs: ['list'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: read },
  { apiGroups: ['apps'], resources: ['deployments', 'statefulsets', 'daemonsets'], verbs: ['list'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  viaPodRule,
  {
    apiGroups: [''],
    resources: ['nodes/proxy'],
    verbs: ['get'],
    when: { text: '--node-metrics', facts: 'unknown' },
  },
];
