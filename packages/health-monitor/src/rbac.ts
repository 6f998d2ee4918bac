// SPDX-License-Identifier: Apache-2.0
/** The permissions that csi-external-health-monitor-controller uses. Those of leader election are in the runtime. */
import type { CheckedRule } from '@csi-sidecars/runtime';

const nothingShown = 'no volume is monitored';

/** The rules of its ClusterRole. */
export const clusterRules: readonly CheckedRule<never>[] = [
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['list', 'watch'], without: nothingShown },
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['list', 'watch'], without: nothingShown },
  {
    apiGroups: [''],
    resources: ['persistentvolumeclaims/status'],
    verbs: ['patch'],
    without: 'claims do not show the health of their volumes; the metric does',
  },
  {
    apiGroups: [''],
    resources: ['events'],
    verbs: ['create', 'patch'],
    without: 'no event names conditions of a type that cannot be stored',
  },
];
