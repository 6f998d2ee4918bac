// SPDX-License-Identifier: Apache-2.0
/** The measures, in the order of the page. */
import { cpu, mib, type Measure, type Measures, perSecond, requests, seconds } from '../side-by-side/measures.ts';

/** With a node that the scheduler selected, or without: the driver may choose among all nodes. */
export type Binding = 'selected' | 'immediate';

type Title = 'volumesRate' | 'boundTime' | 'requests' | 'cpu' | 'rss' | 'anon';

const titles: Readonly<Record<Title, Measure>> = {
  volumesRate: { title: 'volumes created per second', ...perSecond },
  boundTime: { title: 'start to the last claim Bound', ...seconds },
  requests: { title: 'API requests per volume', ...requests },
  cpu: { title: 'CPU time per 1,000 volumes, start included', ...cpu },
  rss: { title: 'RSS, idle afterwards', ...mib },
  anon: { title: 'anonymous memory, idle afterwards', ...mib },
};
const names: Readonly<Record<Binding, string>> = { selected: 'selected node', immediate: 'any node' };

export type MeasureId = `${Binding} ${Title}`;

const bindings = Object.keys(names) as Binding[];
const ids = bindings.flatMap((binding) =>
  (Object.keys(titles) as Title[]).map((id): readonly [MeasureId, Measure] => [
    `${binding} ${id}`,
    { ...titles[id], title: `${names[binding]}: ${titles[id].title}` },
  ]),
);

export const measures = Object.fromEntries(ids) as Measures<MeasureId>;

export const unitOf = (binding: Binding): string => `volume, ${names[binding]}`;

export const units: readonly string[] = bindings.map(unitOf);
