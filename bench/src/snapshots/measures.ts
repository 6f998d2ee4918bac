// SPDX-License-Identifier: Apache-2.0
/** The measures, in the order of the page. Both programs work together; what one of them costs is a measure of its own. */
import { quantile } from '../runtime/report.ts';
import { cpu, mib, ms, percent, perSecond, requests, type Measure, type Measures } from '../side-by-side/measures.ts';

export const programs = ['csi-snapshotter', 'snapshot-controller'] as const;
export type ProgramName = (typeof programs)[number];

type CostId =
  | 'requestsTaken'
  | 'requestsDeleted'
  | 'cpuStart'
  | 'cpuTaken'
  | 'cpuDeleted'
  | 'rssIdle'
  | 'anonIdle'
  | 'rssAfter'
  | 'anonAfter'
  | 'rssForeign'
  | 'anonForeign'
  | 'peakForeign';

export type MeasureId =
  | 'takenRate'
  | 'deletedRate'
  | 'takenBusy'
  | 'readyP50'
  | 'readyP99'
  | 'streamBusy'
  | `${CostId} ${ProgramName}`;

type OfBoth<Id extends CostId> = Readonly<Record<`${Id} ${ProgramName}`, Measure>>;

function ofBoth<Id extends CostId>(id: Id, measure: Measure): OfBoth<Id> {
  const each = programs.map((name) => [`${id} ${name}`, { ...measure, title: `${name}: ${measure.title}` }]);
  return Object.fromEntries(each) as OfBoth<Id>;
}

/** A quantile of the latencies of all rounds together. */
const ofAll =
  (q: number) =>
  (latencies: readonly number[]): number =>
    quantile(
      latencies.toSorted((a, b) => a - b),
      q,
    );

export const measures: Measures<MeasureId> = {
  takenRate: { title: 'snapshots at once: ready per second', ...perSecond },
  deletedRate: { title: 'all deleted at once: gone per second', ...perSecond },
  takenBusy: { title: 'snapshots at once: processors of the machine in use', ...percent },
  readyP50: { title: '1 snapshot/s: accepted snapshot to ready, p50', ...ms, summary: ofAll(0.5) },
  readyP99: { title: '1 snapshot/s: accepted snapshot to ready, p99', ...ms, summary: ofAll(0.99) },
  streamBusy: { title: '1 snapshot/s: processors of the machine in use', ...percent },
  ...ofBoth('requestsTaken', { title: 'API requests per snapshot', ...requests }),
  ...ofBoth('requestsDeleted', { title: 'API requests per deleted snapshot', ...requests }),
  ...ofBoth('cpuStart', { title: 'CPU time of a start until idle', ...cpu }),
  ...ofBoth('cpuTaken', { title: 'CPU time per 1,000 snapshots', ...cpu }),
  ...ofBoth('cpuDeleted', { title: 'CPU time per 1,000 deletions', ...cpu }),
  ...ofBoth('rssIdle', { title: 'RSS, idle after start', ...mib }),
  ...ofBoth('anonIdle', { title: 'anonymous memory, idle after start', ...mib }),
  ...ofBoth('rssAfter', { title: 'RSS, idle after the snapshots came and went', ...mib }),
  ...ofBoth('anonAfter', { title: 'anonymous memory, idle after the snapshots came and went', ...mib }),
  ...ofBoth('rssForeign', { title: 'RSS, idle beside foreign objects', ...mib }),
  ...ofBoth('anonForeign', { title: 'anonymous memory, idle beside foreign objects', ...mib }),
  ...ofBoth('peakForeign', { title: 'highest RSS, started beside foreign objects', ...mib }),
};
