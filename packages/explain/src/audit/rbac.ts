// SPDX-License-Identifier: Apache-2.0
/** The permissions that `csi-sidecars audit` uses. It only reads. */
import type { UsedRule } from '@csi-sidecars/runtime';
import { viaPodRule } from '../command/rbac.ts';

const when = { text: '--via-pod', facts: 'unknown' } as const;

export const auditRules: readonly UsedRule[] = [
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['get', 'list'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims', 'pods'], verbs: ['list'] },
  { apiGroups: ['storage.k8s.io'], resources: ['csidrivers'], verbs: ['get'] },
  { apiGroups: ['storage.k8s.io'], resources: ['csinodes', 'volumeattachments'], verbs: ['list'] },
  { apiGroups: ['snapshot.storage.k8s.io'], resources: ['volumesnapshotcontents'], verbs: ['list'] },
  { apiGroups: ['groupsnapshot.storage.k8s.io'], resources: ['volumegroupsnapshotcontents'], verbs: ['list'] },
  { apiGroups: [''], resources: ['nodes'], verbs: ['get'], when: { text: '--node', facts: 'unknown' } },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list'], when },
  { apiGroups: [''], resources: ['pods'], verbs: ['get'], when },
  { apiGroups: ['storage.k8s.io'], resources: ['csidrivers'], verbs: ['list'], when },
  { apiGroups: ['apps'], resources: ['deployments', 'statefulsets', 'daemonsets'], verbs: ['list'], when },
  viaPodRule,
];
