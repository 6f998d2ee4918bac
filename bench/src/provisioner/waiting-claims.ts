// SPDX-License-Identifier: Apache-2.0
/** Claims that wait when the sidecar starts, then all of them deleted: rates, requests, CPU time, memory afterwards. */
import { inParallel } from '../side-by-side/in-parallel.ts';
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import { isForVolumes, perUnit, untilQuiet } from '../side-by-side/requests.ts';
import { concurrency, createClaim, deleteClaims } from './claims.ts';
import type { MeasureId } from './measures.ts';
import { watchVolumes } from './volume-watch.ts';

export async function measureWaitingClaims(
  bed: TestBed,
  { load: count, settleMs }: Options,
  to: Recording<MeasureId>,
): Promise<void> {
  const { clock, patience } = bed.cluster;
  const names = Array.from({ length: count }, (_, n) => `claim-${n}`);
  await using watch = await watchVolumes(bed);
  await inParallel(names, concurrency, (name) => createClaim(bed, name));
  await watch.until('all claims wait for the driver', () => watch.handedOverAtMs.size === count);

  const startMs = clock.monotonicMs();
  const { process } = await bed.startSidecar();
  await watch.until('all claims are bound', () => watch.boundAtMs.size === count);
  const created = await untilQuiet(bed);
  const cpuCreated = cpuSeconds(process.pid);
  const sinceStart = (at: ReadonlyMap<string, number>): number => (Math.max(...at.values()) - startMs) / 1000;
  const [volumesTime, boundTime] = [sinceStart(watch.createdAtMs), sinceStart(watch.boundAtMs)];
  to.record('volumesTime', volumesTime);
  to.record('volumesRate', count / volumesTime);
  to.record('boundTime', boundTime);
  to.record('boundRate', count / boundTime);
  to.record('cpuCreated', (cpuCreated / count) * 1000);
  to.recordRequests('created volume', perUnit(created, count));
  to.record('requestsCreated', created.filter(isForVolumes).length / count);

  const deleteMs = clock.monotonicMs();
  await deleteClaims(bed, names);
  await watch.until('all volumes are gone', () => watch.goneAtMs.size === count);
  const all = await untilQuiet(bed);
  const deleted = all.slice(created.length);
  to.record('deletedTime', (Math.max(...watch.goneAtMs.values()) - deleteMs) / 1000);
  to.record('cpuDeleted', ((cpuSeconds(process.pid) - cpuCreated) / count) * 1000);
  to.recordRequests('deleted volume', perUnit(deleted, count));
  to.record('requestsDeleted', deleted.filter(isForVolumes).length / count);
  to.record('requestsSteady', all.length - all.filter(isForVolumes).length);

  await clock.sleep(settleMs, patience.signal);
  const { rssMib, anonMib } = memoryOf(process.pid);
  to.record('rssAfter', rssMib);
  to.record('anonAfter', anonMib);
}
