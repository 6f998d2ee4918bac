// SPDX-License-Identifier: Apache-2.0
/** What the program uses: never a verb more than upstream's stock roles give. What leader election uses is the runtime's. */
import type { UsedRule } from '@csi-sidecars/runtime';

const [snapshotApi, groupApi] = ['snapshot.storage.k8s.io', 'groupsnapshot.storage.k8s.io'];
const inGroups = 'the gate CSIVolumeGroupSnapshot is on, and the cluster has its kinds';

/** For a ClusterRole. */
export const clusterRules: readonly UsedRule[] = [
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'watch', 'update'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: [snapshotApi], resources: ['volumesnapshotclasses'], verbs: ['list', 'watch'] },
  {
    apiGroups: [snapshotApi],
    resources: ['volumesnapshotcontents'],
    verbs: ['create', 'get', 'list', 'watch', 'patch', 'delete'],
  },
  {
    apiGroups: [snapshotApi],
    resources: ['volumesnapshots'],
    verbs: ['get', 'list', 'watch', 'patch'],
  },
  { apiGroups: [snapshotApi], resources: ['volumesnapshots/status'], verbs: ['patch'] },
  // With groups switched off too: a member may go only if its group is gone.
  { apiGroups: [groupApi], resources: ['volumegroupsnapshots'], verbs: ['get'] },
  { apiGroups: [snapshotApi], resources: ['volumesnapshots'], verbs: ['create', 'delete'], when: inGroups },
  { apiGroups: [snapshotApi], resources: ['volumesnapshotcontents/status'], verbs: ['patch'], when: inGroups },
  { apiGroups: [groupApi], resources: ['volumegroupsnapshotclasses'], verbs: ['list', 'watch'], when: inGroups },
  {
    apiGroups: [groupApi],
    resources: ['volumegroupsnapshotcontents'],
    verbs: ['create', 'get', 'list', 'watch', 'patch', 'delete'],
    when: inGroups,
  },
  {
    apiGroups: [groupApi],
    resources: ['volumegroupsnapshots'],
    verbs: ['list', 'watch', 'patch'],
    when: inGroups,
  },
  { apiGroups: [groupApi], resources: ['volumegroupsnapshots/status'], verbs: ['patch'], when: inGroups },
  {
    apiGroups: [''],
    resources: ['nodes'],
    verbs: ['list', 'watch'],
    when: '`--enable-distributed-snapshotting` is on',
  },
];
