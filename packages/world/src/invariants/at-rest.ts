// SPDX-License-Identifier: Apache-2.0
/**
 * `repetition`: once everything is settled, nothing is called or written again and again. What waits for a person is tried at a growing pace,
 * so a few attempts in the time of watching are allowed for each object.
 */
import { isWrite } from '../network.ts';
import type { World } from '../world.ts';

/** How long a settled cluster is watched. */
export const restMs = 120_000;
/** Attempts for one object: at a pace that doubles from one second they are seven in two minutes. */
const mostAttempts = 8;
/** A mark that is put on the object before a call, and taken off after its failure. */
const writesOfAttempt = 2;
/** Expansion and modification have the status of a claim in common. A modification may wait for an expansion that goes on after a loss of the lease. */
const loopsOfResizer = 2;
/** These are asked for periodically. */
const periodic: ReadonlySet<string> = new Set(['ListVolumes', 'GetCapacity', 'ListSnapshots']);
const programs = /^csi-|^snapshot-controller/;

export interface Rest {
  /** What was repeated since. */
  readonly repetitions: () => readonly string[];
}

export function beginRest({ drivers, sim }: World): Rest {
  const before = drivers.map(({ model }) => model.calls.length);
  const firstRequest = sim.server.requests.length;
  return {
    repetitions() {
      const counts = new Map<string, number>();
      const count = (what: string, attempts = 1): void => void counts.set(what, (counts.get(what) ?? 0) + attempts);
      for (const { method, request, peer } of drivers.flatMap(({ model }, index) => model.calls.slice(before[index]))) {
        const name = method.split('/').at(-1) ?? '';
        const { name: named, volume_id: volume, snapshot_id: snapshot } = request as Readonly<Record<string, unknown>>;
        if (!periodic.has(name)) count(`${peer} ${name} ${String(volume ?? snapshot ?? named)}`);
      }
      for (const { verb, resource, subresource, name, userAgent } of sim.server.requests.slice(firstRequest)) {
        if (!isWrite({ verb }) || resource === 'leases' || resource === 'events' || !programs.test(userAgent)) continue;
        const writers = userAgent.includes('resizer') && subresource === 'status' ? loopsOfResizer : 1;
        count(`${userAgent} ${verb} ${resource}/${subresource ?? ''} ${name ?? ''}`, 1 / writesOfAttempt / writers);
      }
      return [...counts]
        .filter(([, times]) => times > mostAttempts)
        .map(([what, times]) => `repetition: ${what}, ${times} attempts in ${restMs / 1000} s`);
    },
  };
}
