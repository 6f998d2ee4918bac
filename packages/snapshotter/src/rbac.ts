// SPDX-License-Identifier: Apache-2.0
/** What the program uses: never a verb more than upstream's stock roles give. What leader election uses is the runtime's. */
import type { CheckedRule, RuleCondition } from '@csi-sidecars/runtime';

/** What the conditions of the rules are about. */
export type SnapshotterFact = 'groups';

const snapshots = ['snapshot.storage.k8s.io'];
const groups = ['groupsnapshot.storage.k8s.io'];
const withGroups: RuleCondition<SnapshotterFact> = {
  text: 'the gate CSIVolumeGroupSnapshot is on, and the cluster has the kinds',
  facts: ['groups'],
};

const noSnapshots = 'snapshots are neither made nor reported';
const noGroups = 'group snapshots are off';

/** For a ClusterRole. A content is read again after a conflict. */
export const clusterRules: readonly CheckedRule<SnapshotterFact>[] = [
  {
    apiGroups: snapshots,
    resources: ['volumesnapshotcontents'],
    verbs: ['list', 'watch', 'patch'],
    without: noSnapshots,
  },
  {
    apiGroups: snapshots,
    resources: ['volumesnapshotcontents'],
    verbs: ['get'],
    without: 'a snapshot that others change at the same time is tried again later',
  },
  { apiGroups: snapshots, resources: ['volumesnapshotcontents/status'], verbs: ['patch'], without: noSnapshots },
  { apiGroups: snapshots, resources: ['volumesnapshotclasses'], verbs: ['list', 'watch'], without: noSnapshots },
  {
    apiGroups: [''],
    resources: ['events'],
    verbs: ['create', 'patch'],
    without: 'failures are seen in the log only',
  },
  {
    apiGroups: groups,
    resources: ['volumegroupsnapshotcontents'],
    verbs: ['get', 'list', 'watch', 'patch'],
    when: withGroups,
    without: noGroups,
  },
  {
    apiGroups: groups,
    resources: ['volumegroupsnapshotcontents/status'],
    verbs: ['patch'],
    when: withGroups,
    without: 'group snapshots are not reported',
  },
  {
    apiGroups: groups,
    resources: ['volumegroupsnapshotclasses'],
    verbs: ['list', 'watch'],
    when: withGroups,
    without: noGroups,
  },
  {
    apiGroups: [''],
    resources: ['secrets'],
    verbs: ['get'],
    when: { text: 'a content or its class names a secret', facts: 'unknown' },
    without: 'snapshots of classes with a secret fail',
  },
];
