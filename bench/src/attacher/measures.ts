// SPDX-License-Identifier: Apache-2.0
/** The measures, in the order of the page. */
import { count, cpu, mib, ms, percent, perSecond, requests, seconds, type Measures } from '../side-by-side/measures.ts';

export type MeasureId =
  | 'attachRate'
  | 'detachRate'
  | 'attachBusy'
  | 'requestsAttached'
  | 'requestsDetached'
  | 'requestsReleased'
  | 'cpuStart'
  | 'cpuAttached'
  | 'cpuDetached'
  | 'rssIdle'
  | 'anonIdle'
  | 'rssAfter'
  | 'anonAfter'
  | 'rssForeign'
  | 'anonForeign'
  | 'stormMedian'
  | 'stormMost'
  | 'stormDrained'
  | 'stormInFlight'
  | 'takeOverTerm'
  | 'takeOverKill'
  | 'startLease'
  | 'startCall';

export const measures: Measures<MeasureId> = {
  attachRate: { title: 'attachments at once: attached per second', ...perSecond },
  detachRate: { title: 'all deleted at once: detached per second', ...perSecond },
  attachBusy: { title: 'attachments at once: processors of the machine in use', ...percent },
  requestsAttached: { title: 'API requests per attachment', ...requests },
  requestsDetached: { title: 'API requests per detachment', ...requests },
  requestsReleased: { title: 'API requests per released volume', ...requests },
  cpuStart: { title: 'CPU time of a start until idle', ...cpu },
  cpuAttached: { title: 'CPU time per 1,000 attachments', ...cpu },
  cpuDetached: { title: 'CPU time per 1,000 detachments', ...cpu },
  rssIdle: { title: 'RSS, idle after start', ...mib },
  anonIdle: { title: 'anonymous memory, idle after start', ...mib },
  rssAfter: { title: 'RSS, idle after the attachments came and went', ...mib },
  anonAfter: { title: 'anonymous memory, idle after the attachments came and went', ...mib },
  rssForeign: { title: 'RSS, idle beside foreign objects', ...mib },
  anonForeign: { title: 'anonymous memory, idle beside foreign objects', ...mib },
  stormMedian: { title: 'storm: new attachment to attached, median', ...seconds, digits: 2 },
  stormMost: { title: 'storm: new attachment to attached, at most', ...seconds, digits: 2 },
  stormDrained: { title: 'storm: first detachment asked for to the last done', ...seconds },
  stormInFlight: { title: 'storm: calls to the driver at the same time, at most', ...count },
  takeOverTerm: { title: 'take-over: leader gone by SIGTERM to a new attachment', ...seconds },
  takeOverKill: { title: 'take-over: leader gone by SIGKILL to a new attachment', ...seconds },
  startLease: { title: 'process start to the first request for the lease', ...ms },
  startCall: { title: 'process start to the first ControllerPublishVolume', ...ms },
};
