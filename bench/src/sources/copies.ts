// SPDX-License-Identifier: Apache-2.0
/** Claims that wait for volumes from one source when the program starts: rates, requests, CPU time, the end of the protection, memory. */
import { eventually } from '@csi-sidecars/e2e';
import { deleteClaims } from '../provisioner/claims.ts';
import { watchVolumes } from '../provisioner/volume-watch.ts';
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import { isForVolumes, perUnit, untilQuiet } from '../side-by-side/requests.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import type { Copy, CopyMeasure } from './measures.ts';
import { createCopies, createSource, deleteOrigin, isFree } from './objects.ts';

/** Upstream finds a released source claim with a retry, up to five minutes later. */
const freeWithinMs = 330_000;

export interface CopyOptions extends Pick<Options, 'load' | 'settleMs'> {
  readonly what: Copy;
}

export async function measureCopies(
  bed: TestBed,
  { load, settleMs, what }: CopyOptions,
  to: Recording<CopyMeasure>,
): Promise<void> {
  const { clock, patience } = bed.cluster;
  await createSource(bed, what);
  const before = (await untilQuiet(bed)).length;
  const names = Array.from({ length: load }, (_, n) => `${what}-${n}`);
  await using watch = await watchVolumes(bed);
  await createCopies(bed, names, what);
  await watch.until('all claims wait for the driver', () => names.every((name) => watch.handedOverAtMs.has(name)));

  const startMs = clock.monotonicMs();
  const { process } = await bed.startSidecar();
  await watch.until('all claims are bound', () => names.every((name) => watch.boundAtMs.has(name)));
  const boundMs = lastOf(watch.boundAtMs, names);
  if (what === 'clone') await deleteOrigin(bed);
  await eventually(patience, {
    what: 'the source is free',
    timeoutMs: freeWithinMs,
    check: async () => (await isFree(bed, what)) || undefined,
  });
  const freeMs = clock.monotonicMs();
  const requests = (await untilQuiet(bed)).slice(before);
  const volumesSeconds = (lastOf(watch.createdAtMs, names) - startMs) / 1000;
  to.record(`${what} volumesRate`, load / volumesSeconds);
  to.record(`${what} boundTime`, (boundMs - startMs) / 1000);
  to.record(`${what} requests`, requests.filter(isForVolumes).length / load);
  to.recordRequests(what, perUnit(requests, load));
  to.record(`${what} cpu`, (cpuSeconds(process.pid) / load) * 1000);
  to.record(`${what} freeTime`, (freeMs - boundMs) / 1000);

  await clock.sleep(settleMs, patience.signal);
  const { rssMib, anonMib } = memoryOf(process.pid);
  to.record(`${what} rss`, rssMib);
  to.record(`${what} anon`, anonMib);
  await deleteClaims(bed, names);
  await watch.until('all volumes are gone', () => names.every((name) => watch.goneAtMs.has(name)));
}

function lastOf(times: ReadonlyMap<string, number>, names: readonly string[]): number {
  return Math.max(...names.map((name) => times.get(name) ?? NaN));
}
