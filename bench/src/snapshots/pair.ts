// SPDX-License-Identifier: Apache-2.0
/** Both programs of one implementation, and what each of them holds. */
import { memoryOf, type Memory } from '../side-by-side/process-cost.ts';
import type { Sidecar, TestBed } from '../side-by-side/test-bed.ts';
import { programs, type ProgramName } from './measures.ts';

export interface Member {
  readonly name: ProgramName;
  readonly sidecar: Sidecar;
}

/** In the order of `programs`. */
export async function startPair(bed: TestBed): Promise<readonly Member[]> {
  return await Promise.all(
    programs.map(async (name) => ({ name, sidecar: await bed.startSidecar({ program: name }) })),
  );
}

/** The memory of both, after they were idle for a while. */
export async function idleMemory(
  { cluster: { clock, patience } }: TestBed,
  pair: readonly Member[],
  settleMs: number,
): Promise<readonly (Memory & Pick<Member, 'name'>)[]> {
  await clock.sleep(settleMs, patience.signal);
  return pair.map(({ name, sidecar }) => ({ name, ...memoryOf(sidecar.process.pid) }));
}
