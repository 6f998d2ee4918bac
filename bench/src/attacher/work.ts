// SPDX-License-Identifier: Apache-2.0
/** Attachments at once, then all deleted, then their volumes; a start, a take-over, and a storm of detachments. */
import type { Part } from '../side-by-side/bench.ts';
import { recordMemory } from '../side-by-side/idle-memory.ts';
import { measureSteps } from '../side-by-side/step-cost.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import type { BenchEnvironment } from '../side-by-side/environment.ts';
import { foreignPart, leadersPart, startPart, type Served } from '../side-by-side/usual-parts.ts';
import { attach, createVolumes, deleteVolumes, detach, nodeIds, registerNodes, watchAttachments } from './fleet.ts';
import { storm } from './storm.ts';

const served: Served = {
  watch: watchAttachments,
  ask: async (environment: BenchEnvironment, names: readonly string[]) => {
    await createVolumes(environment, names);
    await attach(environment, names);
  },
  done: 'attached',
};

const attachments: Part = async (environment, { load, settleMs }, to) => {
  const names = namesOf(environment, 'volume', load);
  await using watch = await watchAttachments(environment);
  await createVolumes(environment, names);
  const sidecar = await environment.startSidecar();
  const first = namesOf(environment, 'first', 1);
  await served.ask(environment, first);
  await watch.until('attached', first);
  const steps = [
    { unit: 'attachment', ask: attach, done: ['attached'] },
    { unit: 'detachment', ask: detach, done: ['detached'] },
    { unit: 'released volume', ask: deleteVolumes, done: ['released'] },
  ];
  await measureSteps(environment, { names, watch, workers: [{ sidecar }], steps }, to);
  await recordMemory(environment, { pid: sidecar.process.pid, as: 'After', settleMs }, to);
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
