// SPDX-License-Identifier: Apache-2.0
/** What the programs need that only upstream builds, by their keys in the chart. Upstream's file for csi-snapshot-metadata lacks two rules. */
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

const healthMonitor: readonly ChartRule[] = [
  always('', ['persistentvolumes', 'persistentvolumeclaims', 'nodes', 'pods'], reads),
  always('', ['events'], [...reads, 'create', 'patch']),
  // v0.19.0 writes the health of a volume there, and reads neither nodes nor pods nor events.
  always('', ['persistentvolumeclaims/status'], ['patch']),
];

export const upstreamOnly: Readonly<Record<'snapshotMetadata' | 'healthMonitor', Profiles<ChartRule>>> = {
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
  healthMonitor: { minimal: healthMonitor, compatible: healthMonitor },
};
