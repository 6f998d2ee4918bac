// SPDX-License-Identifier: Apache-2.0
/** What the program uses: never a verb more than upstream's stock roles give. What leader election uses is the runtime's. */
import type { CheckedRule, RuleCondition } from '@csi-sidecars/runtime';

/** What the conditions of the rules are about. */
export type SnapshotControllerFact = 'groups' | 'distributed' | 'validator';

type Rule = CheckedRule<SnapshotControllerFact>;

const [snapshotApi, groupApi] = ['snapshot.storage.k8s.io', 'groupsnapshot.storage.k8s.io'];
const inGroups: RuleCondition<SnapshotControllerFact> = {
  text: 'the gate CSIVolumeGroupSnapshot is on, and the cluster has its kinds',
  facts: ['groups'],
};

const snapshotsStay = 'snapshots stay as they are';
const groupsStay = 'group snapshots are off or stay as they are';

/** What has the same verbs and the same consequence. */
const ofGroups = (resource: string, verbs: readonly string[], apiGroup = groupApi): Rule => ({
  apiGroups: [apiGroup],
  resources: [resource],
  verbs,
  when: inGroups,
  without: groupsStay,
});

/** For a ClusterRole. */
export const clusterRules: readonly Rule[] = [
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['list', 'watch'], without: snapshotsStay },
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['list', 'watch'], without: snapshotsStay },
  {
    apiGroups: [''],
    resources: ['persistentvolumeclaims'],
    verbs: ['update'],
    without: 'claims are not protected, so no content is made',
  },
  {
    apiGroups: [''],
    resources: ['persistentvolumeclaims'],
    verbs: ['get'],
    without: 'a claim that others change at the same time is protected later',
  },
  {
    apiGroups: [''],
    resources: ['events'],
    verbs: ['create', 'patch'],
    without: 'failures are seen in the log only',
  },
  {
    apiGroups: [snapshotApi],
    resources: ['volumesnapshotclasses'],
    verbs: ['list', 'watch'],
    without: snapshotsStay,
  },
  {
    apiGroups: [snapshotApi],
    resources: ['volumesnapshotcontents'],
    verbs: ['create', 'get', 'list', 'watch', 'patch', 'delete'],
    without: snapshotsStay,
  },
  {
    apiGroups: [snapshotApi],
    resources: ['volumesnapshots'],
    verbs: ['get', 'list', 'watch', 'patch'],
    without: snapshotsStay,
  },
  { apiGroups: [snapshotApi], resources: ['volumesnapshots/status'], verbs: ['patch'], without: snapshotsStay },
  // With groups switched off too: a member may go only if its group is gone.
  {
    apiGroups: [groupApi],
    resources: ['volumegroupsnapshots'],
    verbs: ['get'],
    without: 'a snapshot that belongs to a group is not deleted',
  },
  ofGroups('volumesnapshots', ['create', 'delete'], snapshotApi),
  ofGroups('volumesnapshotcontents/status', ['patch'], snapshotApi),
  ofGroups('volumegroupsnapshotclasses', ['list', 'watch']),
  ofGroups('volumegroupsnapshotcontents', ['create', 'get', 'list', 'watch', 'patch', 'delete']),
  ofGroups('volumegroupsnapshots', ['list', 'watch', 'patch']),
  ofGroups('volumegroupsnapshots/status', ['patch']),
  {
    apiGroups: [''],
    resources: ['nodes'],
    verbs: ['list', 'watch'],
    when: { text: '`--enable-distributed-snapshotting` is on', facts: ['distributed'] },
    without: 'no snapshot is made: distributed snapshotting finds no node',
  },
  // What else volume-data-source-validator needs is above.
  {
    apiGroups: ['populator.storage.k8s.io'],
    resources: ['volumepopulators'],
    verbs: ['list', 'watch'],
    when: { text: '`--enable-data-source-validator` is on', facts: ['validator'] },
    without: 'no claim is checked for the kind of its source',
  },
];
