// SPDX-License-Identifier: Apache-2.0
/** The measures, in the order of the page. */
import { count, cpu, mib, type Measures, seconds } from '../side-by-side/measures.ts';

export type CapacityMeasure =
  | 'publishTime'
  | 'publishCpu'
  | 'restRequests'
  | 'restCalls'
  | 'restCpu'
  | 'rss'
  | 'anon'
  | 'changeCalls'
  | 'changeRequests';
export type MeasureId = CapacityMeasure | 'rssForeign' | 'anonForeign';

export const measures: Measures<MeasureId> = {
  publishTime: { title: 'start to the last object', ...seconds },
  publishCpu: { title: 'CPU time until then, start included', ...cpu },
  restRequests: { title: 'API requests per minute at rest, lease included', ...count },
  restCalls: { title: 'GetCapacity calls per minute at rest, polls every 10 s', ...count },
  restCpu: { title: 'CPU time per minute at rest', ...cpu },
  rss: { title: 'RSS at rest', ...mib },
  anon: { title: 'anonymous memory at rest', ...mib },
  changeCalls: {
    title: 'GetCapacity calls after a label of each node and each class that says nothing about capacity',
    ...count,
  },
  changeRequests: { title: 'API requests after them', ...count },
  rssForeign: { title: 'RSS, idle beside foreign objects', ...mib },
  anonForeign: { title: 'anonymous memory, idle beside foreign objects', ...mib },
};
