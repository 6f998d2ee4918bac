// SPDX-License-Identifier: Apache-2.0
/** What is measured, in the order of the page, and the numbers so far. Several of one make and measure become their median. */

export interface Measure {
  readonly title: string;
  readonly unit: string;
  readonly digits: number;
  /** Which of two numbers one would rather have. */
  readonly better: 'less' | 'more';
}

const seconds = { unit: 's', digits: 1, better: 'less' } as const;
const ms = { unit: 'ms', digits: 0, better: 'less' } as const;
const mib = { unit: 'MiB', digits: 0, better: 'less' } as const;
const requests = { unit: '', digits: 2, better: 'less' } as const;
const cpu = { unit: 's', digits: 2, better: 'less' } as const;

/** In the order of the page. */
export const measureIds = [
  'volumesRate',
  'volumesTime',
  'boundTime',
  'boundRate',
  'deletedTime',
  'requestsCreated',
  'requestsDeleted',
  'requestsSteady',
  'cpuStart',
  'cpuCreated',
  'cpuDeleted',
  'rssIdle',
  'anonIdle',
  'rssAfter',
  'anonAfter',
  'rssForeign',
  'anonForeign',
  'volumeP50',
  'volumeP99',
  'boundP50',
  'boundP99',
  'takeOverTerm',
  'takeOverKill',
  'startLease',
  'startCall',
] as const;
export type MeasureId = (typeof measureIds)[number];

export const measures: Readonly<Record<MeasureId, Measure>> = {
  volumesRate: { title: 'waiting claims: volumes created per second', unit: '/s', digits: 0, better: 'more' },
  volumesTime: { title: 'waiting claims: start to the last volume', ...seconds },
  boundTime: { title: 'waiting claims: start to the last claim Bound', ...seconds },
  boundRate: { title: 'waiting claims: claims Bound per second', unit: '/s', digits: 0, better: 'more' },
  deletedTime: { title: 'deletion: first claim deleted to the last volume gone', ...seconds },
  requestsCreated: { title: 'API requests per created volume', ...requests },
  requestsDeleted: { title: 'API requests per deleted volume', ...requests },
  requestsSteady: { title: 'leases, lists and watches of such a run', unit: '', digits: 0, better: 'less' },
  cpuStart: { title: 'CPU time of a start until idle', ...cpu },
  cpuCreated: { title: 'CPU time per 1,000 creations, start included', ...cpu },
  cpuDeleted: { title: 'CPU time per 1,000 deletions', ...cpu },
  rssIdle: { title: 'RSS, idle after start', ...mib },
  anonIdle: { title: 'anonymous memory, idle after start', ...mib },
  rssAfter: { title: 'RSS, idle after the volumes came and went', ...mib },
  anonAfter: { title: 'anonymous memory, idle after the volumes came and went', ...mib },
  rssForeign: { title: 'RSS, idle beside foreign objects', ...mib },
  anonForeign: { title: 'anonymous memory, idle beside foreign objects', ...mib },
  volumeP50: { title: '30 claims/s: accepted claim to volume, p50', ...ms },
  volumeP99: { title: '30 claims/s: accepted claim to volume, p99', ...ms },
  boundP50: { title: '30 claims/s: accepted claim to Bound, p50', ...ms },
  boundP99: { title: '30 claims/s: accepted claim to Bound, p99', ...ms },
  takeOverTerm: { title: 'take-over: leader gone by SIGTERM to a new claim Bound', ...seconds },
  takeOverKill: { title: 'take-over: leader gone by SIGKILL to a new claim Bound', ...seconds },
  startLease: { title: 'process start to the first request for the lease', ...ms },
  startCall: { title: 'process start to the first CreateVolume', ...ms },
};

/** Those who are compared. */
export type MakeName = 'ours' | 'upstream';

/** Requests per volume, by verb and resource. */
export type Numbers = ReadonlyMap<string, number>;

export type VolumePhase = 'created' | 'deleted';

/** Where the measurements of one make go. */
export interface Recording {
  record(id: MeasureId, value: number): void;
  recordRequests(phase: VolumePhase, perVolume: Numbers): void;
}

export interface Results {
  readonly recording: (make: MakeName) => Recording;
  median(make: MakeName, id: MeasureId): number | undefined;
  /** By kind of request; a kind that a round did not have counts 0 there. */
  medianRequests(make: MakeName, phase: VolumePhase): Numbers;
}

export function createResults(): Results {
  const values = new Map<string, number[]>();
  const tallies = new Map<string, Numbers[]>();
  return {
    recording: (make) => ({
      record: (id, value) => push(values, `${make} ${id}`, value),
      recordRequests: (phase, perVolume) => push(tallies, `${make} ${phase}`, perVolume),
    }),
    median: (make, id) => {
      const seen = values.get(`${make} ${id}`);
      return seen === undefined ? undefined : median(seen);
    },
    medianRequests: (make, phase) => {
      const rounds = tallies.get(`${make} ${phase}`) ?? [];
      const kinds = new Set(rounds.flatMap((round) => [...round.keys()]));
      return new Map([...kinds].map((kind) => [kind, median(rounds.map((round) => round.get(kind) ?? 0))]));
    },
  };
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const entry = map.get(key);
  if (entry === undefined) map.set(key, [value]);
  else entry.push(value);
}

/** Of at least one number; the mean of the middle two of an even number. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? NaN)) / 2;
}
