// SPDX-License-Identifier: Apache-2.0
/** Claims of csi-provisioner: one that waits at the start, a steady stream with its latencies, many that wait and then go. */
import type { Part } from '../side-by-side/bench.ts';
import { recordMemory } from '../side-by-side/idle-memory.ts';
import { quantile, type Recording } from '../side-by-side/measures.ts';
import { cpuSeconds } from '../side-by-side/process-cost.ts';
import { isForVolumes, perUnit, untilQuiet } from '../side-by-side/requests.ts';
import { measureStart } from '../side-by-side/start.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import { stream } from '../side-by-side/stream.ts';
import type { BenchEnvironment } from '../side-by-side/environment.ts';
import { foreignPart, leadersPart } from '../side-by-side/usual-parts.ts';
import type { Watching } from '../side-by-side/watching.ts';
import {
  createClaim,
  createClaims,
  createMarkedClaims,
  createClass,
  deleteClaims,
  measureWaiting,
  watchVolumes,
} from './claims.ts';

const claimsPerSecond = 30;
/** Nine of 900 latencies are beyond the 99th percentile; with 300 it would be the third worst. */
const streamSeconds = 30;

const start: Part = async (environment, { settleMs, quick }, to) => {
  await using watch = await watchVolumes(environment);
  const first = namesOf(environment, 'first', 1);
  await createClaims(environment, first);
  await watch.until('handed over', first);
  await measureStart(environment, { method: 'CreateVolume', served: () => watch.until('bound', first), settleMs }, to);
  const streamed = namesOf(environment, 'streamed', claimsPerSecond * (quick ? 3 : streamSeconds));
  await measureLatency(environment, { watch, names: streamed }, to);
  // The next ones start on a cluster without them.
  await deleteClaims(environment, [...first, ...streamed]);
  await watch.until('gone', [...first, ...streamed]);
};

interface Streamed {
  readonly watch: Watching;
  readonly names: readonly string[];
}

async function measureLatency(environment: BenchEnvironment, { watch, names }: Streamed, to: Recording): Promise<void> {
  const ask = (name: string): Promise<unknown> => createClaim(environment, name);
  const claims = { watch, names, periodMs: 1000 / claimsPerSecond, ask, done: 'bound' };
  const acceptedAtMs = await stream(environment, claims, to);
  const record = (id: string, from: ReadonlyMap<string, number>, state: string): void => {
    const at = watch.at(state);
    // One watch may be faster than the other, or than the answer to the request.
    const latencies = names.map((name) => Math.max(0, (at.get(name) ?? NaN) - (from.get(name) ?? NaN)));
    to.record(`${id}P50`, quantile(latencies, 0.5));
    to.record(`${id}P99`, quantile(latencies, 0.99));
  };
  record('own', watch.at('handed over'), 'created');
  record('volume', acceptedAtMs, 'created');
  record('bound', acceptedAtMs, 'bound');
}

const volumes: Part = async (environment, { load, settleMs }, to) => {
  const { clock } = environment.cluster;
  const names = namesOf(environment, 'claim', load);
  await using watch = await watchVolumes(environment);
  const create = (): Promise<void> => createClaims(environment, names);
  const waiting = { watch, names, create, unit: 'created volume' };
  const { sidecar, requests } = await measureWaiting(environment, waiting, to);
  const cpuCreated = cpuSeconds(sidecar.process.pid);
  const deleteMs = clock.monotonicMs();
  await deleteClaims(environment, names);
  await watch.until('gone', names);
  const all = await untilQuiet(environment);
  const deleted = all.slice(requests);
  to.record('deletedTime', (Math.max(...watch.times('gone', names)) - deleteMs) / 1000);
  to.record('cpuDeleted', ((cpuSeconds(sidecar.process.pid) - cpuCreated) / load) * 1000);
  to.count('requests per deleted volume', perUnit(deleted, load));
  to.record('requestsDeleted', deleted.filter(isForVolumes).length / load);
  to.record('requestsSteady', all.length - all.filter(isForVolumes).length);
  await recordMemory(environment, { pid: sidecar.process.pid, as: 'After', settleMs }, to);
};

export { createClass as prepare };
// The controller-manager is stopped, so the bench marks the claim itself.
export const foreign: Part = foreignPart({ watch: watchVolumes, ask: createMarkedClaims, done: 'created' });
export const parts: Readonly<Record<string, Part>> = {
  start,
  volumes,
  leaders: leadersPart({ watch: watchVolumes, ask: createClaims, done: 'bound' }),
  foreign,
};
