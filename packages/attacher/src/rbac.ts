// SPDX-License-Identifier: Apache-2.0
/** The permissions that csi-attacher uses, all within upstream's stock roles. Those of leader election are in the runtime. */
import type { UsedRule } from '@csi-sidecars/runtime';

/** The rules of its ClusterRole. */
export const clusterRules: readonly UsedRule[] = [
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['list', 'watch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'], when: 'a volume names a controller publish secret' },
];
