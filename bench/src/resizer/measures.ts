// SPDX-License-Identifier: Apache-2.0
/** The measures, in the order of the page. */
import { cpu, mib, ms, percent, perSecond, requests, seconds, type Measures } from '../side-by-side/measures.ts';

export type MeasureId =
  | 'expandRate'
  | 'modifyRate'
  | 'expandBusy'
  | 'requestsExpanded'
  | 'conflictsExpanded'
  | 'requestsModified'
  | 'conflictsModified'
  | 'cpuStart'
  | 'cpuExpanded'
  | 'cpuModified'
  | 'rssIdle'
  | 'anonIdle'
  | 'rssAfter'
  | 'anonAfter'
  | 'rssForeign'
  | 'anonForeign'
  | 'takeOverTerm'
  | 'takeOverKill'
  | 'startLease'
  | 'startCall';

export const measures: Measures<MeasureId> = {
  expandRate: { title: 'claims at once: expanded per second', ...perSecond },
  modifyRate: { title: 'claims at once: modified per second', ...perSecond },
  expandBusy: { title: 'expansions at once: processors of the machine in use', ...percent },
  requestsExpanded: { title: 'API requests per expansion', ...requests },
  conflictsExpanded: { title: 'conflicts per expansion', ...requests },
  requestsModified: { title: 'API requests per modification', ...requests },
  conflictsModified: { title: 'conflicts per modification', ...requests },
  cpuStart: { title: 'CPU time of a start until idle', ...cpu },
  cpuExpanded: { title: 'CPU time per 1,000 expansions', ...cpu },
  cpuModified: { title: 'CPU time per 1,000 modifications', ...cpu },
  rssIdle: { title: 'RSS, idle after start', ...mib },
  anonIdle: { title: 'anonymous memory, idle after start', ...mib },
  rssAfter: { title: 'RSS, idle after the expansions and modifications', ...mib },
  anonAfter: { title: 'anonymous memory, idle after the expansions and modifications', ...mib },
  rssForeign: { title: 'RSS, idle beside foreign objects', ...mib },
  anonForeign: { title: 'anonymous memory, idle beside foreign objects', ...mib },
  takeOverTerm: { title: 'take-over: leader gone by SIGTERM to a new expansion', ...seconds },
  takeOverKill: { title: 'take-over: leader gone by SIGKILL to a new expansion', ...seconds },
  startLease: { title: 'process start to the first request for the lease', ...ms },
  startCall: { title: 'process start to the first ControllerExpandVolume', ...ms },
};
