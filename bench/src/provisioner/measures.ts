// SPDX-License-Identifier: Apache-2.0
/** The measures, in the order of the page. */
import { count, cpu, mib, ms, percent, perSecond, requests, seconds, type Measures } from '../side-by-side/measures.ts';

export type MeasureId =
  | 'volumesRate'
  | 'volumesTime'
  | 'boundTime'
  | 'boundRate'
  | 'deletedTime'
  | 'requestsCreated'
  | 'requestsDeleted'
  | 'requestsSteady'
  | 'cpuStart'
  | 'cpuCreated'
  | 'cpuDeleted'
  | 'rssIdle'
  | 'anonIdle'
  | 'rssAfter'
  | 'anonAfter'
  | 'rssForeign'
  | 'anonForeign'
  | 'streamBusy'
  | 'ownP50'
  | 'ownP99'
  | 'volumeP50'
  | 'volumeP99'
  | 'boundP50'
  | 'boundP99'
  | 'takeOverTerm'
  | 'takeOverKill'
  | 'startLease'
  | 'startCall';

export const measures: Measures<MeasureId> = {
  volumesRate: { title: 'waiting claims: volumes created per second', ...perSecond },
  volumesTime: { title: 'waiting claims: start to the last volume', ...seconds },
  boundTime: { title: 'waiting claims: start to the last claim Bound', ...seconds },
  boundRate: { title: 'waiting claims: claims Bound per second', ...perSecond },
  deletedTime: { title: 'deletion: first claim deleted to the last volume gone', ...seconds },
  requestsCreated: { title: 'API requests per created volume', ...requests },
  requestsDeleted: { title: 'API requests per deleted volume', ...requests },
  requestsSteady: { title: 'leases, lists and watches of such a run', ...count },
  cpuStart: { title: 'CPU time of a start until idle', ...cpu },
  cpuCreated: { title: 'CPU time per 1,000 creations, start included', ...cpu },
  cpuDeleted: { title: 'CPU time per 1,000 deletions', ...cpu },
  rssIdle: { title: 'RSS, idle after start', ...mib },
  anonIdle: { title: 'anonymous memory, idle after start', ...mib },
  rssAfter: { title: 'RSS, idle after the volumes came and went', ...mib },
  anonAfter: { title: 'anonymous memory, idle after the volumes came and went', ...mib },
  rssForeign: { title: 'RSS, idle beside foreign objects', ...mib },
  anonForeign: { title: 'anonymous memory, idle beside foreign objects', ...mib },
  streamBusy: { title: '30 claims/s: processors of the machine in use', ...percent },
  ownP50: { title: '30 claims/s: claim handed to the driver to volume, p50', ...ms },
  ownP99: { title: '30 claims/s: claim handed to the driver to volume, p99', ...ms },
  volumeP50: { title: '30 claims/s: accepted claim to volume, p50', ...ms },
  volumeP99: { title: '30 claims/s: accepted claim to volume, p99', ...ms },
  boundP50: { title: '30 claims/s: accepted claim to Bound, p50', ...ms },
  boundP99: { title: '30 claims/s: accepted claim to Bound, p99', ...ms },
  takeOverTerm: { title: 'take-over: leader gone by SIGTERM to a new claim Bound', ...seconds },
  takeOverKill: { title: 'take-over: leader gone by SIGKILL to a new claim Bound', ...seconds },
  startLease: { title: 'process start to the first request for the lease', ...ms },
  startCall: { title: 'process start to the first CreateVolume', ...ms },
};
