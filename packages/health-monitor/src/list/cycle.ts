// SPDX-License-Identifier: Apache-2.0
/**
 * What one cycle over the list of the driver has shown of each volume. The number of the cycle is kept for every volume. The report of an unhealthy
 * volume is kept until the cycle ends, within the limits of the API server. A page of the list is never kept.
 */
import type { ObjectKey } from '@csi-sidecars/runtime';
import { healthyReport, normalise, type Report, type ReportedEntries } from '../report/normalise.ts';

/** `doubtful`: the list has the volume with entries and again without. */
export type Listed = 'absent' | 'unhealthy' | 'healthy' | 'doubtful';

export interface ListCycle {
  /** Begins the next cycle. What earlier cycles have shown does not count any more. */
  readonly begin: () => void;
  readonly take: (key: ObjectKey, entries: ReportedEntries) => void;
  readonly of: (key: ObjectKey) => Listed;
  /** The last report of a volume in this cycle. */
  readonly reportOf: (key: ObjectKey) => Report;
  /** Ends the cycle. Forgets the reports, and the volumes that are not in `keys` any more. */
  readonly end: (keys: { readonly has: (key: ObjectKey) => boolean }) => void;
}

const states = ['absent', 'unhealthy', 'healthy', 'doubtful'] as const satisfies readonly Listed[];

export function createListCycle(): ListCycle {
  let cycle = 0;
  /** The number of the cycle, and of the state: one number takes less memory than an object. */
  const seen = new Map<ObjectKey, number>();
  const reports = new Map<ObjectKey, Report>();
  const listed = (key: ObjectKey): Listed => {
    const state = (seen.get(key) ?? 0) - cycle * states.length;
    return states[state] ?? 'absent';
  };
  const note = (key: ObjectKey, next: Listed): void => void seen.set(key, cycle * states.length + states.indexOf(next));
  return {
    begin: () => void (cycle += 1),
    take: (key, entries) => {
      if (entries.length > 0) {
        reports.set(key, normalise(entries));
        note(key, 'unhealthy');
        return;
      }
      const before = listed(key);
      reports.delete(key);
      note(key, before === 'unhealthy' || before === 'doubtful' ? 'doubtful' : 'healthy');
    },
    of: listed,
    reportOf: (key) => reports.get(key) ?? healthyReport,
    end: (keys) => {
      reports.clear();
      for (const key of seen.keys()) if (!keys.has(key)) seen.delete(key);
    },
  };
}
