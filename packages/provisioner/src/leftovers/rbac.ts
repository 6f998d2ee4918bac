// SPDX-License-Identifier: Apache-2.0
/** The permissions that `csi-sidecars leftovers` uses. Those for writing are needed with `--remove` only. */
import type { UsedRule } from '@csi-sidecars/runtime';

const when: UsedRule['when'] = { text: '--remove', facts: 'unknown' };
const snapshotApi = 'snapshot.storage.k8s.io';

export const leftoversRules: readonly UsedRule[] = [
  { apiGroups: [''], resources: ['persistentvolumeclaims', 'persistentvolumes', 'nodes'], verbs: ['list'] },
  { apiGroups: ['storage.k8s.io'], resources: ['csinodes', 'csistoragecapacities'], verbs: ['list'] },
  { apiGroups: [snapshotApi], resources: ['volumesnapshots', 'volumesnapshotcontents'], verbs: ['list'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims', 'persistentvolumes'], verbs: ['patch'], when },
  { apiGroups: [snapshotApi], resources: ['volumesnapshots'], verbs: ['patch'], when },
  { apiGroups: ['storage.k8s.io'], resources: ['csistoragecapacities'], verbs: ['delete'], when },
];
