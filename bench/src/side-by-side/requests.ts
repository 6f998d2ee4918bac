// SPDX-License-Identifier: Apache-2.0
/** What the API server's audit log says of one place's program. */
import { eventually, rightOf, tally, type AuditedRequest } from '@csi-sidecars/e2e';
import type { Numbers } from './measures.ts';
import type { Place } from './place.ts';

/** Waits for the program's requests to stop, but for those that never do: events still on their way are part of a volume's cost. */
export async function untilQuiet(place: Place): Promise<readonly AuditedRequest[]> {
  const { stand } = place;
  let seen = -1;
  let sinceMs = 0;
  return await eventually(stand.patience, {
    what: 'no more requests',
    timeoutMs: 60_000,
    check: () => {
      const now = place.requests();
      const count = now.filter(isForVolumes).length;
      if (count !== seen) [seen, sinceMs] = [count, stand.clock.monotonicMs()];
      return stand.clock.monotonicMs() - sinceMs >= quietMs ? now : undefined;
    },
  });
}

const quietMs = 2000;

/** Leases, lists, watches and discovery do not grow with volumes. */
export function isForVolumes({ verb, resource }: AuditedRequest): boolean {
  return verb !== 'list' && verb !== 'watch' && resource !== 'leases' && resource !== '';
}

/** Of those requests that are for volumes, by verb and resource. */
export function perUnit(requests: readonly AuditedRequest[], units: number): Numbers {
  return new Map([...tally(requests.filter(isForVolumes), rightOf)].map(([right, times]) => [right, times / units]));
}
