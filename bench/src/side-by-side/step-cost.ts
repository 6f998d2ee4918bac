// SPDX-License-Identifier: Apache-2.0
/** What one step of many units, such as attachments, costs the program under test. */
import { type AuditedRequest } from '@csi-sidecars/e2e';
import { busyShareSince, processorTimes } from './machine-load.ts';
import type { Recording } from './measures.ts';
import { cpuSeconds } from './process-cost.ts';
import { isForVolumes, perUnit, untilQuiet } from './requests.ts';
import type { Sidecar, TestBed } from './test-bed.ts';

export interface Step {
  readonly sidecar: Pick<Sidecar, 'process'>;
  /** For the table of requests. */
  readonly unit: string;
  readonly load: number;
  readonly run: () => Promise<void>;
}

export interface StepCost {
  readonly startMs: number;
  /** Share of the whole machine's processors. */
  readonly busyPercent: number;
  /** Those for volumes. */
  readonly requests: readonly AuditedRequest[];
  readonly cpuPerThousand: number;
}

export async function measureStep(
  bed: TestBed,
  { sidecar: { process }, unit, load, run }: Step,
  to: Pick<Recording<never>, 'recordRequests'>,
): Promise<StepCost> {
  const before = await untilQuiet(bed);
  const cpuBefore = cpuSeconds(process.pid);
  const timesBefore = processorTimes();
  const startMs = bed.cluster.clock.monotonicMs();
  await run();
  const busyPercent = busyShareSince(timesBefore) * 100;
  const requests = (await untilQuiet(bed)).slice(before.length);
  to.recordRequests(unit, perUnit(requests, load));
  return {
    startMs,
    busyPercent,
    requests: requests.filter(isForVolumes),
    cpuPerThousand: ((cpuSeconds(process.pid) - cpuBefore) / load) * 1000,
  };
}

/** Units per second, from the start until the last of these times. */
export function rateOf(endedAtMs: readonly number[], { startMs }: Pick<StepCost, 'startMs'>): number {
  return (endedAtMs.length / (Math.max(...endedAtMs) - startMs)) * 1000;
}
