// SPDX-License-Identifier: Apache-2.0
/** A start with one claim waiting, then a steady stream of claims and their latency. */
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { busyShareSince, processorTimes } from '../side-by-side/machine-load.ts';
import { measureStart } from '../side-by-side/start.ts';
import { quantile } from '../runtime/report.ts';
import { createClaim, deleteClaims } from './claims.ts';
import type { MeasureId } from './measures.ts';
import { watchVolumes, type VolumeWatch } from './volume-watch.ts';

const claimsPerSecond = 30;
/** Nine of 900 latencies are beyond the 99th percentile; with 300 it would be the third worst. */
const streamSeconds = 30;

export async function measureStartAndStream(
  bed: TestBed,
  { settleMs, quick }: Options,
  to: Recording<MeasureId>,
): Promise<void> {
  await using watch = await watchVolumes(bed);
  await createClaim(bed, 'first');
  await watch.until('the claim waits for the driver', () => watch.handedOverAtMs.has('first'));
  const served = (): Promise<void> => watch.until('the first claim is bound', () => watch.boundAtMs.has('first'));
  await measureStart(bed, { method: 'CreateVolume', served, settleMs }, to);
  await stream(bed, watch, { count: claimsPerSecond * (quick ? 3 : streamSeconds), to });
  // The next ones start on a cluster without them.
  await deleteClaims(bed, [...watch.boundAtMs.keys()]);
  await watch.until('all volumes are gone', () => watch.goneAtMs.size === watch.boundAtMs.size);
}

async function stream(
  bed: TestBed,
  watch: VolumeWatch,
  { count, to }: { readonly count: number; readonly to: Recording<MeasureId> },
): Promise<void> {
  const { clock, patience } = bed.cluster;
  const acceptedAtMs = new Map<string, number>();
  const creations: Promise<void>[] = [];
  const timesBefore = processorTimes();
  const startMs = clock.monotonicMs();
  for (let n = 0; n < count; n += 1) {
    const name = `streamed-${n}`;
    creations.push(createClaim(bed, name).then(() => void acceptedAtMs.set(name, clock.monotonicMs())));
    const nextMs = startMs + ((n + 1) * 1000) / claimsPerSecond;
    await clock.sleep(Math.max(0, nextMs - clock.monotonicMs()), patience.signal);
  }
  await Promise.all(creations);
  await watch.until('all streamed claims are bound', () => watch.boundAtMs.size === count + 1);
  to.record('streamBusy', busyShareSince(timesBefore) * 100);
  const latencies = (from: Times, at: Times): readonly number[] =>
    // One watch may be faster than the other, or than the answer to the request.
    [...acceptedAtMs.keys()]
      .map((name) => Math.max(0, (at.get(name) ?? NaN) - (from.get(name) ?? NaN)))
      .sort((a, b) => a - b);
  const own = latencies(watch.handedOverAtMs, watch.createdAtMs);
  const volumes = latencies(acceptedAtMs, watch.createdAtMs);
  const bound = latencies(acceptedAtMs, watch.boundAtMs);
  to.record('ownP50', quantile(own, 0.5));
  to.record('ownP99', quantile(own, 0.99));
  to.record('volumeP50', quantile(volumes, 0.5));
  to.record('volumeP99', quantile(volumes, 0.99));
  to.record('boundP50', quantile(bound, 0.5));
  to.record('boundP99', quantile(bound, 0.99));
}

/** By claim. */
type Times = ReadonlyMap<string, number>;
