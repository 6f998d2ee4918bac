// SPDX-License-Identifier: Apache-2.0
/** csi-resizer as a dry run: its own loops, with one key. What it assumes is described in docs/behaviour/dry-run.md. */
import { assumedOf, type DryQuestion, dryRunProgram, type DryRunResult, type DryWorld } from '@csi-sidecars/sidecar';
import type { ResizerDriver } from './driver.ts';
import { resizerProgram } from './flags.ts';
import { featuresOf } from './program.ts';
import { timeoutsOf, toSettings } from './read-settings.ts';
import { resizerLoops } from './resizer.ts';

const queueEnds = { expand: 'pvc', modify: 'pvc-modify' } as const;

/** Keys: `namespace/name` of a claim. */
export type ResizerDryLoop = keyof typeof queueEnds;

export interface ResizerDryQuestion extends DryQuestion<ResizerDryLoop> {
  /** Name and capabilities, and who expands: what the driver is believed to have. */
  readonly driver: ResizerDriver;
}

export function dryRun(world: DryWorld, question: ResizerDryQuestion): Promise<DryRunResult> {
  const { driver, loop } = question;
  return dryRunProgram(world, question, {
    program: resizerProgram,
    assemble: async (parts) => {
      const { values, given } = parts.started;
      const settings = toSettings(values, timeoutsOf(values, given), await featuresOf(parts));
      return {
        queue: `${driver.name}-${queueEnds[loop]}`,
        loops: (ports) => resizerLoops(ports, { driver, settings }),
        assumed: [...assumedOf(driver), `expansion is the work of: ${driver.expansion}`],
      };
    },
  });
}
