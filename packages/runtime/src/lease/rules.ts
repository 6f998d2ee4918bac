// SPDX-License-Identifier: Apache-2.0
import type { UsedRule } from '../api/policy-rule.ts';

/** For a Role in the namespace of the Lease. Without `watch` a standby takes over later, see lease-watch.ts. */
export const leaseRules: readonly UsedRule[] = [
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    verbs: ['get', 'watch', 'create', 'update'],
    when: '--leader-election',
  },
  {
    apiGroups: [''],
    resources: ['events'],
    verbs: ['create', 'patch'],
    when: 'events about the election are wanted',
  },
];
