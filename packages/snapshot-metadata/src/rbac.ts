// SPDX-License-Identifier: Apache-2.0
/** What the program uses. Upstream's role has more on SnapshotMetadataServices, and nothing on classes and secrets. */
import type { CheckedRule } from '@csi-sidecars/runtime';

const snapshots = ['snapshot.storage.k8s.io'];
const everything = 'every request fails';

export const clusterRules: readonly CheckedRule[] = [
  {
    apiGroups: ['cbt.storage.k8s.io'],
    resources: ['snapshotmetadataservices'],
    verbs: ['get'],
    when: { text: '`--audience` is not set', facts: 'unknown' },
    without: everything,
  },
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'], without: everything },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'], without: everything },
  {
    apiGroups: snapshots,
    resources: ['volumesnapshots', 'volumesnapshotcontents', 'volumesnapshotclasses'],
    verbs: ['get'],
    without: everything,
  },
  {
    apiGroups: snapshots,
    resources: ['volumesnapshotclasses'],
    verbs: ['list'],
    without: 'requests for snapshots without a class fail',
  },
  {
    apiGroups: [''],
    resources: ['secrets'],
    verbs: ['get'],
    when: { text: 'a class names a secret', facts: 'unknown' },
    without: 'requests for snapshots of classes with a secret fail',
  },
];
