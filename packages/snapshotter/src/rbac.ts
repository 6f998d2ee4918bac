// SPDX-License-Identifier: Apache-2.0
/** What the program uses: never a verb more than upstream's stock roles give. What leader election uses is the runtime's. */
import type { UsedRule } from '@csi-sidecars/runtime';

const snapshots = ['snapshot.storage.k8s.io'];
const groups = ['groupsnapshot.storage.k8s.io'];
const withGroups = 'the gate CSIVolumeGroupSnapshot is on, and the cluster has the kinds';

/** For a ClusterRole. A content is read again after a conflict. */
export const clusterRules: readonly UsedRule[] = [
  { apiGroups: snapshots, resources: ['volumesnapshotcontents'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: snapshots, resources: ['volumesnapshotcontents/status'], verbs: ['patch'] },
  { apiGroups: snapshots, resources: ['volumesnapshotclasses'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  {
    apiGroups: groups,
    resources: ['volumegroupsnapshotcontents'],
    verbs: ['get', 'list', 'watch', 'patch'],
    when: withGroups,
  },
  { apiGroups: groups, resources: ['volumegroupsnapshotcontents/status'], verbs: ['patch'], when: withGroups },
  { apiGroups: groups, resources: ['volumegroupsnapshotclasses'], verbs: ['list', 'watch'], when: withGroups },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'], when: 'a content or its class names a secret' },
];
