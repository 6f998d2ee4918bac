// SPDX-License-Identifier: Apache-2.0
import type { ApiClient } from '../api/client.ts';
import { isConflict, isNotFound } from '../api/error-predicates.ts';
import type { Lease } from '../api/objects.ts';
import { leases } from '../api/resource.ts';
import type { Clock } from '../clock/clock.ts';
import { withDeadline } from '../clock/deadline.ts';
import type { ElectionConfig } from './election-config.ts';
import type { LeaseAnswer, LeaseRequest } from './election-state.ts';
import type { CheckedRule } from '../api/policy-rule.ts';

export interface LeaseCall {
  readonly request: LeaseRequest;
  /** Time limit of the whole request, including the rate limit and retries inside the client. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface LeaseClientDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
}

/** Sends one request about the Lease; never rejects. */
export async function callLease(
  { client, clock }: LeaseClientDeps,
  { namespace, name }: Pick<ElectionConfig, 'namespace' | 'name'>,
  { request, timeoutMs, signal: parent }: LeaseCall,
): Promise<LeaseAnswer> {
  try {
    const lease = await withDeadline(clock, { parent, ms: timeoutMs }, (signal): Promise<Lease> => {
      const options = { signal, timeoutMs };
      switch (request.kind) {
        case 'get':
          return client.get(leases, { namespace, name }, options);
        case 'create':
          return client.create(leases, request.lease, options);
        case 'update':
          return client.update(leases, request.lease, options);
      }
    });
    return { kind: 'ok', lease };
  } catch (error) {
    if (isNotFound(error)) return { kind: 'missing', error };
    return { kind: isConflict(error) ? 'conflict' : 'failed', error };
  }
}

const elected = { text: '--leader-election', facts: ['leaderElection'] } as const;

/** For a Role in the namespace of the Lease. Without `watch` a standby takes over later, see lease-watch.ts. */
export const leaseRules: readonly CheckedRule<'leaderElection'>[] = [
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    verbs: ['get', 'create', 'update'],
    when: elected,
    without: 'this replica never leads',
  },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    verbs: ['watch'],
    when: elected,
    without: 'a standby asks for the Lease again and again, and takes over later',
  },
  {
    apiGroups: [''],
    resources: ['events'],
    verbs: ['create', 'patch'],
    // Upstream's roles do not all grant it, and everything works without it.
    when: { text: 'events about the election are wanted', facts: 'unknown' },
    without: 'events about the election are missing',
  },
];
