// SPDX-License-Identifier: Apache-2.0
/** What programs of upstream need that no table of ours says. */
import type { PolicyRule } from '@csi-sidecars/runtime';
import type { ChartRule } from './rules.ts';

const always = (group: string, resources: readonly string[], verbs: readonly string[]): ChartRule => ({
  feature: 'always',
  apiGroups: [group],
  resources,
  verbs,
});
const reads: PolicyRule['verbs'] = ['get', 'list', 'watch'];
const snapshots = 'snapshot.storage.k8s.io';
const contents = ['volumesnapshots', 'volumesnapshotcontents'];

/**
 * What csi-external-health-monitor-controller v0.18.0 reads and v0.19.0 does not. The chart takes both, so it grants both to an image of upstream,
 * and never to ours.
 */
export const olderHealthMonitor: ChartRule = {
  feature: 'upstream',
  apiGroups: [''],
  resources: ['nodes', 'pods'],
  verbs: reads,
};

/**
 * What csi-snapshot-metadata v1.1.0 uses. Its manifest grants writes to the SnapshotMetadataServices of all drivers, which it does not use, and lacks
 * the classes, without which every request fails.
 */
export const upstreamMetadata: readonly ChartRule[] = [
  always('authentication.k8s.io', ['tokenreviews'], ['create', 'get']),
  always('authorization.k8s.io', ['subjectaccessreviews'], ['create', 'get']),
  always(snapshots, contents, ['get', 'list']),
  always(snapshots, ['volumesnapshotclasses'], ['get', 'list']),
];
