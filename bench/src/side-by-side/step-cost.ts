// SPDX-License-Identifier: Apache-2.0
/** What one step of many units, such as attachments, costs the program under test. */
import { type AuditedRequest } from '@csi-sidecars/e2e';
import { busyShareSince, processorTimes } from './machine-load.ts';
import type { Recording } from './measures.ts';
import { cpuSeconds } from './process-cost.ts';
import { isForVolumes, perUnit, untilQuiet } from './requests.ts';
import type { Sidecar, TestBed } from './test-bed.ts';

export interface Step {
  readonly sidecar: Sidecar;
  /** For the table of requests. */
  readonly unit: string;
  readonly load: number;
  readonly run: () => Promise<void>;
}

export interface SharedStep extends Pick<Step, 'load' | 'run'> {
  /** The programs that do the work together, each with its own table of requests. */
  readonly workers: readonly Pick<Step, 'sidecar' | 'unit'>[];
}

export interface SharedCost {
  readonly startMs: number;
  /** Share of the whole machine's processors. */
  readonly busyPercent: number;
  /** In the order of the workers. */
  readonly costs: readonly ProgramCost[];
}

export interface ProgramCost {
  /** Those for volumes. */
  readonly requests: readonly AuditedRequest[];
  readonly cpuPerThousand: number;
}

export type StepCost = Omit<SharedCost, 'costs'> & ProgramCost;

export async function measureStep(
  bed: TestBed,
  { sidecar, unit, load, run }: Step,
  to: Pick<Recording<never>, 'recordRequests'>,
): Promise<StepCost> {
  const { costs, ...machine } = await measureSharedStep(bed, { workers: [{ sidecar, unit }], load, run }, to);
  return { ...machine, ...costs[0]! };
}

export async function measureSharedStep(
  bed: TestBed,
  { workers, load, run }: SharedStep,
  to: Pick<Recording<never>, 'recordRequests'>,
): Promise<SharedCost> {
  const before = await untilQuiet(bed);
  const cpuOf = (): readonly number[] => workers.map(({ sidecar: { process } }) => cpuSeconds(process.pid));
  const cpuBefore = cpuOf();
  const timesBefore = processorTimes();
  const startMs = bed.cluster.clock.monotonicMs();
  await run();
  const busyPercent = busyShareSince(timesBefore) * 100;
  const requests = (await untilQuiet(bed)).slice(before.length);
  const cpuAfter = cpuOf();
  const costs = workers.map(({ sidecar, unit }, index): ProgramCost => {
    const own = requests.filter(({ user }) => user === sidecar.user);
    to.recordRequests(unit, perUnit(own, load));
    const cpu = (cpuAfter[index] ?? NaN) - (cpuBefore[index] ?? NaN);
    return { requests: own.filter(isForVolumes), cpuPerThousand: (cpu / load) * 1000 };
  });
  return { startMs, busyPercent, costs };
}

/** Units per second, from the start until the last of these times. */
export function rateOf(endedAtMs: readonly number[], { startMs }: Pick<StepCost, 'startMs'>): number {
  return (endedAtMs.length / (Math.max(...endedAtMs) - startMs)) * 1000;
}
