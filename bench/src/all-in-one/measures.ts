// SPDX-License-Identifier: Apache-2.0
/** The measures, in the order of the page. Memory and CPU time are those of all processes of a make together. */
import { count, cpu, mib, perSecond, type Measures } from '../side-by-side/measures.ts';

export type MeasureId =
  | 'rssIdle'
  | 'anonIdle'
  | 'rssForeign'
  | 'anonForeign'
  | 'peakForeign'
  | 'watches'
  | 'cpuStart'
  | 'attachRate'
  | 'createRate'
  | 'expandRate'
  | 'snapshotRate'
  | 'cpuWork';

export const measures: Measures<MeasureId> = {
  rssIdle: { title: 'RSS, idle after one piece of work each', ...mib },
  anonIdle: { title: 'anonymous memory, idle after one piece of work each', ...mib },
  rssForeign: { title: 'RSS, idle beside foreign objects', ...mib },
  anonForeign: { title: 'anonymous memory, idle beside foreign objects', ...mib },
  peakForeign: { title: 'highest RSS, started beside foreign objects', ...mib },
  watches: { title: 'open watches, without those on leases', ...count },
  cpuStart: { title: 'CPU time of a start until idle', ...cpu },
  attachRate: { title: 'at once: attached per second', ...perSecond },
  createRate: { title: 'at once: volumes created per second', ...perSecond },
  expandRate: { title: 'at once: expanded per second', ...perSecond },
  snapshotRate: { title: 'at once: snapshots ready per second', ...perSecond },
  cpuWork: { title: 'CPU time of all this work per 1,000 objects of each kind', ...cpu },
};
