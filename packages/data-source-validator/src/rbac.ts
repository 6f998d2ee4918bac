// SPDX-License-Identifier: Apache-2.0
/** What the program uses: never a verb more than upstream's stock role gives. What leader election uses is the runtime's. */
import type { CheckedRule } from '@csi-sidecars/runtime';

const nothingIsChecked = 'no claim is checked';

/** For a ClusterRole. */
export const clusterRules: readonly CheckedRule[] = [
  {
    apiGroups: ['populator.storage.k8s.io'],
    resources: ['volumepopulators'],
    verbs: ['list', 'watch'],
    without: nothingIsChecked,
  },
  {
    apiGroups: [''],
    resources: ['persistentvolumeclaims'],
    verbs: ['list', 'watch'],
    without: nothingIsChecked,
  },
  {
    apiGroups: [''],
    resources: ['events'],
    verbs: ['create', 'patch'],
    without: 'a claim whose source is not registered gets no event',
  },
];
