// SPDX-License-Identifier: Apache-2.0
/** The memory of the program once it is idle, beside the objects of another driver. */
import type { Recording } from './measures.ts';
import type { Options } from './options.ts';
import { memoryOf } from './process-cost.ts';
import type { SidecarOptions, TestBed } from './test-bed.ts';

export interface BesideForeign extends Pick<Options, 'settleMs'> {
  /** Finished work proves that all caches are filled. */
  readonly proveSynced: () => Promise<unknown>;
  /** Further flags and environment variables. */
  readonly sidecar?: SidecarOptions;
}

export async function measureBesideForeign(
  bed: TestBed,
  { settleMs, proveSynced, sidecar }: BesideForeign,
  to: Recording<'rssForeign' | 'anonForeign'>,
): Promise<void> {
  const { clock, patience } = bed.cluster;
  const { process } = await bed.startSidecar(sidecar);
  await proveSynced();
  await clock.sleep(settleMs, patience.signal);
  const { rssMib, anonMib } = memoryOf(process.pid);
  to.record('rssForeign', rssMib);
  to.record('anonForeign', anonMib);
}
