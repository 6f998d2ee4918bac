// SPDX-License-Identifier: Apache-2.0
/** What programs of upstream need that no table of ours says. Upstream's file for csi-snapshot-metadata lacks two rules. */
import type { PolicyRule } from '@csi-sidecars/runtime';
import type { ChartRule, Profiles } from './rules.ts';

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

/** By their keys in the chart: the programs that only upstream builds. */
export const upstreamOnly: Readonly<Record<'snapshotMetadata', Profiles<ChartRule>>> = {
  snapshotMetadata: {
    minimal: [
      always('authentication.k8s.io', ['tokenreviews'], ['create']),
      always('authorization.k8s.io', ['subjectaccessreviews'], ['create']),
      always(snapshots, contents, ['get']),
      always(snapshots, ['volumesnapshotclasses'], ['get', 'list']),
    ],
    compatible: [
      always('authentication.k8s.io', ['tokenreviews'], ['create', 'get']),
      always('authorization.k8s.io', ['subjectaccessreviews'], ['create', 'get']),
      always(snapshots, contents, ['get', 'list']),
      always(snapshots, ['volumesnapshotclasses'], ['get', 'list']),
    ],
  },
};
