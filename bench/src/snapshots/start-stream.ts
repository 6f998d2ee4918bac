// SPDX-License-Identifier: Apache-2.0
/** A start with one snapshot waiting, then one snapshot a second and their latency. */
import { createBoundClaims, removeBoundClaims } from '../side-by-side/bound-claims.ts';
import { busyShareSince, processorTimes } from '../side-by-side/machine-load.ts';
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import { cpuSeconds } from '../side-by-side/process-cost.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import type { MeasureId } from './measures.ts';
import { deleteSnapshots, takeSnapshot, takeSnapshots } from './objects.ts';
import { idleMemory, startPair } from './pair.ts';
import { watchSnapshots, type SnapshotWatch } from './snapshot-watch.ts';

/** The snapshots of all rounds together; the third worst of 200 latencies is beyond the 99th percentile. */
const streamed = 200;
const streamedQuick = 10;
const periodMs = 1000;

export async function measureStartAndStream(
  bed: TestBed,
  { settleMs, quick, rounds }: Options,
  to: Recording<MeasureId>,
): Promise<void> {
  await using watch = await watchSnapshots(bed);
  const names = namesOf(bed, 'streamed', quick ? streamedQuick : Math.ceil(streamed / rounds));
  const first = namesOf(bed, 'first', 1);
  const all = [...first, ...names];
  await createBoundClaims(bed, all);
  await takeSnapshots(bed, first);

  const pair = await startPair(bed);
  await watch.untilReady(first);
  for (const { name, rssMib, anonMib } of await idleMemory(bed, pair, settleMs)) {
    to.record(`rssIdle ${name}`, rssMib);
    to.record(`anonIdle ${name}`, anonMib);
  }
  for (const { name, sidecar } of pair) to.record(`cpuStart ${name}`, cpuSeconds(sidecar.process.pid));

  await stream(bed, watch, { names, to });
  await deleteSnapshots(bed, all);
  await watch.untilGone(all);
  await removeBoundClaims(bed, all);
}

async function stream(
  bed: TestBed,
  watch: SnapshotWatch,
  { names, to }: { readonly names: readonly string[]; readonly to: Recording<MeasureId> },
): Promise<void> {
  const { clock, patience } = bed.cluster;
  const acceptedAtMs = new Map<string, number>();
  const timesBefore = processorTimes();
  const startMs = clock.monotonicMs();
  for (const [at, name] of names.entries()) {
    await takeSnapshot(bed, name);
    acceptedAtMs.set(name, clock.monotonicMs());
    await clock.sleep(Math.max(0, startMs + (at + 1) * periodMs - clock.monotonicMs()), patience.signal);
  }
  await watch.untilReady(names);
  to.record('streamBusy', busyShareSince(timesBefore) * 100);
  for (const [name, fromMs] of acceptedAtMs) {
    // The watch may be faster than the answer to the request.
    const latencyMs = Math.max(0, (watch.readyAtMs.get(name) ?? NaN) - fromMs);
    to.record('readyP50', latencyMs);
    to.record('readyP99', latencyMs);
  }
}
