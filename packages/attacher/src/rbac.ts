// SPDX-License-Identifier: Apache-2.0
/** What the program uses: never a verb more than upstream's stock roles give. What leader election uses is the runtime's. */
import type { UsedRule } from '@csi-sidecars/runtime';

/** For a ClusterRole. */
export const clusterRules: readonly UsedRule[] = [
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['list', 'watch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'], when: 'a volume names a controller publish secret' },
];
