// SPDX-License-Identifier: Apache-2.0
/** Many snapshots at once, then all deleted: rates, requests, CPU time, memory afterwards. */
import { createBoundClaims, removeBoundClaims } from '../side-by-side/bound-claims.ts';
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import { measureSharedStep, rateOf, type SharedCost } from '../side-by-side/step-cost.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { programs, type MeasureId } from './measures.ts';
import { deleteSnapshots, takeSnapshots } from './objects.ts';
import { idleMemory, startPair } from './pair.ts';
import { watchSnapshots } from './snapshot-watch.ts';

const taken = 'snapshot';
const deleted = 'deleted snapshot';

/** The title of a table of requests. */
const unitOf = (unit: string, name: string): string => `${unit}, ${name}`;
export const units: readonly string[] = [taken, deleted].flatMap((unit) => programs.map((name) => unitOf(unit, name)));

export async function measureTakeDelete(
  bed: TestBed,
  { load, settleMs }: Options,
  to: Recording<MeasureId>,
): Promise<void> {
  await using watch = await watchSnapshots(bed);
  const names = namesOf(bed, 'volume', load);
  const first = namesOf(bed, 'first', 1);
  const all = [...first, ...names];
  await createBoundClaims(bed, all);
  const pair = await startPair(bed);
  await takeSnapshots(bed, first);
  await watch.untilReady(first);

  const step = (unit: string, run: () => Promise<void>): Promise<SharedCost> => {
    const workers = pair.map(({ name, sidecar }) => ({ sidecar, unit: unitOf(unit, name) }));
    return measureSharedStep(bed, { workers, load, run }, to);
  };
  const timesIn = (at: ReadonlyMap<string, number>): readonly number[] => names.map((name) => at.get(name) ?? NaN);

  const taking = await step(taken, async () => {
    await takeSnapshots(bed, names);
    await watch.untilReady(names);
  });
  to.record('takenRate', rateOf(timesIn(watch.readyAtMs), taking));
  to.record('takenBusy', taking.busyPercent);
  for (const [at, { requests, cpuPerThousand }] of taking.costs.entries()) {
    to.record(`requestsTaken ${programs[at]!}`, requests.length / load);
    to.record(`cpuTaken ${programs[at]!}`, cpuPerThousand);
  }

  const deleting = await step(deleted, async () => {
    await deleteSnapshots(bed, names);
    await watch.untilGone(names);
  });
  to.record('deletedRate', rateOf(timesIn(watch.goneAtMs), deleting));
  for (const [at, { requests, cpuPerThousand }] of deleting.costs.entries()) {
    to.record(`requestsDeleted ${programs[at]!}`, requests.length / load);
    to.record(`cpuDeleted ${programs[at]!}`, cpuPerThousand);
  }

  for (const { name, rssMib, anonMib } of await idleMemory(bed, pair, settleMs)) {
    to.record(`rssAfter ${name}`, rssMib);
    to.record(`anonAfter ${name}`, anonMib);
  }
  await deleteSnapshots(bed, first);
  await watch.untilGone(first);
  await removeBoundClaims(bed, all);
}
