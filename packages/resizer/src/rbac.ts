// SPDX-License-Identifier: Apache-2.0
/** What the program uses: never a verb more than upstream's stock roles give. What leader election uses is the runtime's. */
import type { UsedRule } from '@csi-sidecars/runtime';

/** For a ClusterRole. */
export const clusterRules: readonly UsedRule[] = [
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'], when: '`--handle-volume-inuse-error` is on' },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['volumeattributesclasses'],
    verbs: ['list', 'watch'],
    when: 'the driver has MODIFY_VOLUME and the gate VolumeAttributesClass is on',
  },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'], when: 'a volume names an expand or modify secret' },
];
