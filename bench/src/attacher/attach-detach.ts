// SPDX-License-Identifier: Apache-2.0
/** Many attachments at once, then all deleted, then their volumes: rates, requests, CPU time, memory afterwards. */
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { busyShareSince, processorTimes } from '../side-by-side/machine-load.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import { isForVolumes, perUnit, untilQuiet } from '../side-by-side/requests.ts';
import { attachOne, watchAttachments } from './attachment-watch.ts';
import { attach, createVolumes, deleteVolumes, detach, namesOf } from './fleet.ts';
import type { MeasureId } from './measures.ts';

interface Step {
  readonly startMs: number;
  /** Share of the whole machine's processors. */
  readonly busyPercent: number;
  /** Per attachment. */
  readonly requests: number;
  readonly cpuPerThousand: number;
}

export async function measureAttachDetach(
  bed: TestBed,
  { load, settleMs }: Options,
  to: Recording<MeasureId>,
): Promise<void> {
  const { clock, patience } = bed.cluster;
  const names = namesOf(bed, 'volume', load);
  await using watch = await watchAttachments(bed);
  await createVolumes(bed, names);
  const { process } = await bed.startSidecar();
  await attachOne(bed, watch, 'first');

  /** Runs one step and returns its cost for the program. */
  const step = async (unit: string, run: () => Promise<void>): Promise<Step> => {
    const before = await untilQuiet(bed);
    const cpuBefore = cpuSeconds(process.pid);
    const timesBefore = processorTimes();
    const startMs = clock.monotonicMs();
    await run();
    const busyPercent = busyShareSince(timesBefore) * 100;
    const requests = (await untilQuiet(bed)).slice(before.length);
    const cpuPerThousand = ((cpuSeconds(process.pid) - cpuBefore) / load) * 1000;
    to.recordRequests(unit, perUnit(requests, load));
    return { startMs, busyPercent, requests: requests.filter(isForVolumes).length / load, cpuPerThousand };
  };
  const rate = (at: ReadonlyMap<string, number>, startMs: number): number =>
    (load / (Math.max(...names.map((name) => at.get(name) ?? NaN)) - startMs)) * 1000;

  const attached = await step('attachment', async () => {
    await attach(bed, names);
    await watch.until('all are attached', () => names.every((name) => watch.attachedAtMs.has(name)));
  });
  to.record('attachRate', rate(watch.attachedAtMs, attached.startMs));
  to.record('attachBusy', attached.busyPercent);
  to.record('requestsAttached', attached.requests);
  to.record('cpuAttached', attached.cpuPerThousand);

  const detached = await step('detachment', async () => {
    await detach(bed, names);
    await watch.until('all are detached', () => names.every((name) => watch.detachedAtMs.has(name)));
  });
  to.record('detachRate', rate(watch.detachedAtMs, detached.startMs));
  to.record('requestsDetached', detached.requests);
  to.record('cpuDetached', detached.cpuPerThousand);

  const released = await step('released volume', async () => {
    await deleteVolumes(bed, names);
    await watch.until('all volumes are released', () => names.every((name) => watch.releasedVolumes.has(name)));
  });
  to.record('requestsReleased', released.requests);

  await clock.sleep(settleMs, patience.signal);
  const { rssMib, anonMib } = memoryOf(process.pid);
  to.record('rssAfter', rssMib);
  to.record('anonAfter', anonMib);
}
