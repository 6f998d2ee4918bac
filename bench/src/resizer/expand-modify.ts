// SPDX-License-Identifier: Apache-2.0
/** Many expansions at once, then as many modifications: rates, requests, conflicts, CPU time, memory afterwards. */
import type { AuditedRequest } from '@csi-sidecars/e2e';
import { createBoundClaims } from '../side-by-side/bound-claims.ts';
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import { memoryOf } from '../side-by-side/process-cost.ts';
import { measureStep, rateOf, type StepCost } from '../side-by-side/step-cost.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { expandOne, watchClaims } from './claim-watch.ts';
import { askForClass, askForMore } from './claims.ts';
import type { MeasureId } from './measures.ts';

const conflict = 409;

export async function measureExpandModify(
  bed: TestBed,
  { load, settleMs }: Options,
  to: Recording<MeasureId>,
): Promise<void> {
  const { clock, patience } = bed.cluster;
  const names = namesOf(bed, 'volume', load);
  await using watch = await watchClaims(bed);
  await createBoundClaims(bed, names);
  const sidecar = await bed.startSidecar();
  await expandOne(bed, watch, 'first');

  const step = async (unit: string, ask: () => Promise<void>, at: ReadonlyMap<string, number>): Promise<StepCost> => {
    const run = async (): Promise<void> => {
      await ask();
      await watch.until(`each ${unit} is done`, () => names.every((name) => at.has(name)));
    };
    return await measureStep(bed, { sidecar, unit, load, run }, to);
  };
  const timesIn = (at: ReadonlyMap<string, number>): readonly number[] => names.map((name) => at.get(name) ?? NaN);
  const perClaim = (requests: readonly AuditedRequest[]): number => requests.length / load;
  const isConflict = ({ code }: AuditedRequest): boolean => code === conflict;

  const expanded = await step('expansion', () => askForMore(bed, names), watch.expandedAtMs);
  to.record('expandRate', rateOf(timesIn(watch.expandedAtMs), expanded));
  to.record('expandBusy', expanded.busyPercent);
  to.record('requestsExpanded', perClaim(expanded.requests));
  to.record('conflictsExpanded', perClaim(expanded.requests.filter(isConflict)));
  to.record('cpuExpanded', expanded.cpuPerThousand);

  const modified = await step('modification', () => askForClass(bed, names), watch.modifiedAtMs);
  to.record('modifyRate', rateOf(timesIn(watch.modifiedAtMs), modified));
  to.record('requestsModified', perClaim(modified.requests));
  to.record('conflictsModified', perClaim(modified.requests.filter(isConflict)));
  to.record('cpuModified', modified.cpuPerThousand);

  await clock.sleep(settleMs, patience.signal);
  const { rssMib, anonMib } = memoryOf(sidecar.process.pid);
  to.record('rssAfter', rssMib);
  to.record('anonAfter', anonMib);
}
