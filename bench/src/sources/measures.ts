// SPDX-License-Identifier: Apache-2.0
/** The measures, in the order of the page. */
import { cpu, mib, type Measure, type Measures, perSecond, requests, seconds } from '../side-by-side/measures.ts';

export type Copy = 'restore' | 'clone';

type Title = 'volumesRate' | 'boundTime' | 'requests' | 'cpu' | 'freeTime' | 'rss' | 'anon';

const titles: Readonly<Record<Title, Measure>> = {
  volumesRate: { title: 'volumes created per second', ...perSecond },
  boundTime: { title: 'start to the last claim Bound', ...seconds },
  requests: { title: 'API requests per volume', ...requests },
  cpu: { title: 'CPU time per 1,000 volumes, start included', ...cpu },
  freeTime: { title: 'last claim Bound to the source without finalizer, or gone', ...seconds },
  rss: { title: 'RSS, idle afterwards', ...mib },
  anon: { title: 'anonymous memory, idle afterwards', ...mib },
};
export type CopyMeasure = `${Copy} ${Title}`;
export type MeasureId = CopyMeasure | 'rssForeign' | 'anonForeign';

const copies: readonly Copy[] = ['restore', 'clone'];
const ofCopies = copies.flatMap((copy) =>
  (Object.keys(titles) as Title[]).map((id): readonly [CopyMeasure, Measure] => [
    `${copy} ${id}`,
    { ...titles[id], title: `${copy}: ${titles[id].title}` },
  ]),
);

export const measures: Measures<MeasureId> = {
  ...(Object.fromEntries(ofCopies) as Measures<CopyMeasure>),
  rssForeign: { title: 'RSS, idle beside foreign objects', ...mib },
  anonForeign: { title: 'anonymous memory, idle beside foreign objects', ...mib },
};

export const units: readonly string[] = copies;
