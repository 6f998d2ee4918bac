// SPDX-License-Identifier: Apache-2.0
/** The requests of one test environment's program, from the API server's audit log. */
import { eventually, rightOf, tally, type AuditedRequest } from '@csi-sidecars/e2e';
import type { Numbers } from './measures.ts';
import type { BenchEnvironment } from './environment.ts';

/** Waits until the program's requests stop, except periodic ones: events that are still being sent are part of a volume's cost. */
export async function untilQuiet(environment: BenchEnvironment): Promise<readonly AuditedRequest[]> {
  const { cluster } = environment;
  let seen = -1;
  let sinceMs = 0;
  return await eventually(cluster.patience, {
    what: 'no more requests',
    timeoutMs: 60_000,
    check: () => {
      const now = environment.requests();
      const count = now.filter(isForVolumes).length;
      if (count !== seen) [seen, sinceMs] = [count, cluster.clock.monotonicMs()];
      return cluster.clock.monotonicMs() - sinceMs >= quietMs ? now : undefined;
    },
  });
}

const quietMs = 2000;

/** Leases, lists, watches and discovery do not grow with volumes. */
export function isForVolumes({ verb, resource }: AuditedRequest): boolean {
  return verb !== 'list' && verb !== 'watch' && resource !== 'leases' && resource !== '';
}

/** The requests for volumes, by verb and resource. */
export function perUnit(requests: readonly AuditedRequest[], units: number): Numbers {
  return new Map([...tally(requests.filter(isForVolumes), rightOf)].map(([right, times]) => [right, times / units]));
}
