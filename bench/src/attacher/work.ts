// SPDX-License-Identifier: Apache-2.0
/** Attachments at once, then all deleted, then their volumes; a start, a take-over, and a storm of detachments. */
import type { Part } from '../side-by-side/bench.ts';
import { recordMemory } from '../side-by-side/idle-memory.ts';
import { measureSteps } from '../side-by-side/step-cost.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { foreignPart, leadersPart, startPart, type Served } from '../side-by-side/usual-parts.ts';
import { attach, createVolumes, deleteVolumes, detach, nodeIds, registerNodes, watchAttachments } from './fleet.ts';
import { storm } from './storm.ts';

const served: Served = {
  watch: watchAttachments,
  ask: async (bed: TestBed, names: readonly string[]) => {
    await createVolumes(bed, names);
    await attach(bed, names);
  },
  done: 'attached',
};

const attachments: Part = async (bed, { load, settleMs }, to) => {
  const names = namesOf(bed, 'volume', load);
  await using watch = await watchAttachments(bed);
  await createVolumes(bed, names);
  const sidecar = await bed.startSidecar();
  const first = namesOf(bed, 'first', 1);
  await served.ask(bed, first);
  await watch.until('attached', first);
  const steps = [
    { unit: 'attachment', ask: attach, done: ['attached'] },
    { unit: 'detachment', ask: detach, done: ['detached'] },
    { unit: 'released volume', ask: deleteVolumes, done: ['released'] },
  ];
  await measureSteps(bed, { names, watch, workers: [{ sidecar }], steps }, to);
  await recordMemory(bed, { pid: sidecar.process.pid, as: 'After', settleMs }, to);
};

export const driverFlags: readonly string[] = nodeIds.map((id) => `--node=id=${id}`);
export { registerNodes as prepare };
export const parts: Readonly<Record<string, Part>> = {
  start: startPart(served, 'ControllerPublishVolume'),
  attachments,
  storm,
  leaders: leadersPart(served),
  foreign: foreignPart(served),
};
