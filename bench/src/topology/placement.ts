// SPDX-License-Identifier: Apache-2.0
/** Claims that wait when the sidecar starts, on as many nodes: rate, requests, CPU time, memory afterwards. */
import { deleteClaims } from '../provisioner/claims.ts';
import { watchVolumes } from '../provisioner/volume-watch.ts';
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import { isForVolumes, perUnit, untilQuiet } from '../side-by-side/requests.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { type Binding, type MeasureId, unitOf } from './measures.ts';
import { createClaims, createNodesAndClass, removeNodesAndClass } from './objects.ts';

export interface PlacementOptions extends Pick<Options, 'load' | 'settleMs'> {
  readonly binding: Binding;
}

export async function measurePlacement(
  bed: TestBed,
  { load, settleMs, binding }: PlacementOptions,
  to: Recording<MeasureId>,
): Promise<void> {
  const { clock, patience } = bed.cluster;
  const placement = { nodes: load, binding };
  await createNodesAndClass(bed, placement);
  const names = Array.from({ length: load }, (_, n) => `claim-${n}`);
  await using watch = await watchVolumes(bed);
  await createClaims(bed, names, placement);
  await watch.until('all claims wait for the driver', () => watch.handedOverAtMs.size === load);

  const startMs = clock.monotonicMs();
  const { process } = await bed.startSidecar();
  await watch.until('all claims are bound', () => watch.boundAtMs.size === load);
  const created = await untilQuiet(bed);
  const sinceStart = (at: ReadonlyMap<string, number>): number => (Math.max(...at.values()) - startMs) / 1000;
  to.record(`${binding} cpu`, (cpuSeconds(process.pid) / load) * 1000);
  to.record(`${binding} volumesRate`, load / sinceStart(watch.createdAtMs));
  to.record(`${binding} boundTime`, sinceStart(watch.boundAtMs));
  to.record(`${binding} requests`, created.filter(isForVolumes).length / load);
  to.recordRequests(unitOf(binding), perUnit(created, load));
  await clock.sleep(settleMs, patience.signal);
  const { rssMib, anonMib } = memoryOf(process.pid);
  to.record(`${binding} rss`, rssMib);
  to.record(`${binding} anon`, anonMib);

  await deleteClaims(bed, names);
  await watch.until('all volumes are gone', () => watch.goneAtMs.size === load);
  await process.stop();
  await removeNodesAndClass(bed, { nodes: load });
}
