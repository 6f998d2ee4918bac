// SPDX-License-Identifier: Apache-2.0
/** Many attachments at once, then all deleted, then their volumes: rates, requests, CPU time, memory afterwards. */
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import { memoryOf } from '../side-by-side/process-cost.ts';
import { measureStep, rateOf, type StepCost } from '../side-by-side/step-cost.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { attachOne, watchAttachments } from './attachment-watch.ts';
import { attach, createVolumes, deleteVolumes, detach } from './fleet.ts';
import type { MeasureId } from './measures.ts';

export async function measureAttachDetach(
  bed: TestBed,
  { load, settleMs }: Options,
  to: Recording<MeasureId>,
): Promise<void> {
  const { clock, patience } = bed.cluster;
  const names = namesOf(bed, 'volume', load);
  await using watch = await watchAttachments(bed);
  await createVolumes(bed, names);
  const sidecar = await bed.startSidecar();
  await attachOne(bed, watch, 'first');

  const step = (unit: string, run: () => Promise<void>): Promise<StepCost> =>
    measureStep(bed, { sidecar, unit, load, run }, to);
  const timesIn = (at: ReadonlyMap<string, number>): readonly number[] => names.map((name) => at.get(name) ?? NaN);

  const attached = await step('attachment', async () => {
    await attach(bed, names);
    await watch.until('all are attached', () => names.every((name) => watch.attachedAtMs.has(name)));
  });
  to.record('attachRate', rateOf(timesIn(watch.attachedAtMs), attached));
  to.record('attachBusy', attached.busyPercent);
  to.record('requestsAttached', attached.requests.length / load);
  to.record('cpuAttached', attached.cpuPerThousand);

  const detached = await step('detachment', async () => {
    await detach(bed, names);
    await watch.until('all are detached', () => names.every((name) => watch.detachedAtMs.has(name)));
  });
  to.record('detachRate', rateOf(timesIn(watch.detachedAtMs), detached));
  to.record('requestsDetached', detached.requests.length / load);
  to.record('cpuDetached', detached.cpuPerThousand);

  const released = await step('released volume', async () => {
    await deleteVolumes(bed, names);
    await watch.until('all volumes are released', () => names.every((name) => watch.releasedVolumes.has(name)));
  });
  to.record('requestsReleased', released.requests.length / load);

  await clock.sleep(settleMs, patience.signal);
  const { rssMib, anonMib } = memoryOf(sidecar.process.pid);
  to.record('rssAfter', rssMib);
  to.record('anonAfter', anonMib);
}
