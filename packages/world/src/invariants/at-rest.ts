// SPDX-License-Identifier: Apache-2.0
/**
 * `repetition`: once everything is settled, nothing is called or written again and again. What waits for a person is tried at a growing pace,
 * so a few attempts in the time of watching are allowed for each object.
 */
import { events } from '@csi-sidecars/runtime';
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
/** Reports of one thing: one that was late, the one before it, and one that corrects it; or one of each process if the first of them crashes. */
const lateReports = 3;
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
  const reported = reportsOf(sim);
  return {
    repetitions() {
      const counts = new Map<string, number>();
      const count = (what: string, attempts = 1): void => void counts.set(what, (counts.get(what) ?? 0) + attempts);
      for (const { method, request, peer } of drivers.flatMap(({ model }, index) => model.calls.slice(before[index]))) {
        const name = method.split('/').at(-1) ?? '';
        const {
          name: named,
          volume_id: volume,
          snapshot_id: snapshot,
          starting_token: token,
        } = request as Readonly<Record<string, unknown>>;
        if (!periodic.has(name)) count(`${peer} ${name} ${String(volume ?? snapshot ?? named ?? token)}`);
      }
      for (const { verb, resource, subresource, name, userAgent } of sim.server.requests.slice(firstRequest)) {
        if (!isWrite({ verb }) || resource === 'leases' || resource === 'events' || !programs.test(userAgent)) continue;
        // A patch that the server had put off may undo a newer one, whose report is then repeated.
        if (userAgent.includes('health-monitor') && subresource === 'status')
          count(`health of ${name}`, mostAttempts / lateReports);
        const writers = userAgent.includes('resizer') && subresource === 'status' ? loopsOfResizer : 1;
        count(`${userAgent} ${verb} ${resource}/${subresource ?? ''} ${name ?? ''}`, 1 / writesOfAttempt / writers);
      }
      // A leader whose watches the API server had put off may begin to look at claims only now.
      for (const [what, times] of reportsOf(sim))
        count(what, (times - (reported.get(what) ?? 0)) * (mostAttempts / lateReports));
      return [...counts]
        .filter(([, times]) => times > mostAttempts)
        .map(([what, times]) => `repetition: ${what}, ${Math.round(times)} attempts in ${restMs / 1000} s`);
    },
  };
}

const reasons: readonly unknown[] = ['UnrecognizedDataSourceKind', 'UnknownVolumeHealthCondition'];

/** How often the programs that only report have written an event about an object. */
function reportsOf({ server }: World['sim']): ReadonlyMap<string, number> {
  const reported = new Map<string, number>();
  for (const { reason, involvedObject, count = 1 } of server.objects.list(events)) {
    const what = `${reason} of ${involvedObject.uid}`;
    if (reasons.includes(reason)) reported.set(what, (reported.get(what) ?? 0) + count);
  }
  return reported;
}
