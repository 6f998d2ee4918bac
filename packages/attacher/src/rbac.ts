// SPDX-License-Identifier: Apache-2.0
/** The permissions that csi-attacher uses, all within upstream's stock roles. Those of leader election are in the runtime. */
import type { CheckedRule, RuleCondition } from '@csi-sidecars/runtime';

/** What the conditions of the rules are about. */
export type AttacherFact = 'attach';

const attach: RuleCondition<AttacherFact> = {
  text: 'the driver attaches volumes',
  facts: ['attach'],
};

const nothingAttached = 'nothing is attached or detached';

/** The rules of its ClusterRole. */
export const clusterRules: readonly CheckedRule<AttacherFact>[] = [
  {
    apiGroups: [''],
    resources: ['persistentvolumes'],
    verbs: ['list', 'watch'],
    when: attach,
    without: nothingAttached,
  },
  {
    apiGroups: [''],
    resources: ['persistentvolumes'],
    verbs: ['patch'],
    when: attach,
    without: 'PersistentVolumes get no finalizer, so nothing is attached; deleted ones that have it stay',
  },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['csinodes'],
    verbs: ['list', 'watch'],
    when: attach,
    without: nothingAttached,
  },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['volumeattachments'],
    verbs: ['list', 'watch'],
    without: nothingAttached,
  },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['volumeattachments'],
    verbs: ['patch'],
    when: attach,
    without: 'VolumeAttachments get no finalizer, so nothing is attached',
  },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['volumeattachments/status'],
    verbs: ['patch'],
    without: 'pods wait although their volumes are attached',
  },
  {
    apiGroups: [''],
    resources: ['secrets'],
    verbs: ['get'],
    when: { text: 'a volume names a controller publish secret', facts: 'unknown' },
    without: 'volumes with a publish secret are neither attached nor detached',
  },
];
