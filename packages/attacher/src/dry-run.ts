// SPDX-License-Identifier: Apache-2.0
/** csi-attacher as a dry run: its own loops, with one key. What it assumes is described in docs/behaviour/dry-run.md. */
import {
  assumedOf,
  type DryDriverQuestion,
  dryRunProgram,
  type DryRunResult,
  type DryWorld,
} from '@csi-sidecars/sidecar';
import { attacherLoops } from './attacher.ts';
import { attacherProgram } from './flags.ts';
import { toSettings } from './read-settings.ts';
import { queueNames } from './watched.ts';

/** Keys: the name of a VolumeAttachment, or of a PersistentVolume. */
export type AttacherDryLoop = keyof typeof queueNames;

export function dryRun(world: DryWorld, question: DryDriverQuestion<AttacherDryLoop>): Promise<DryRunResult> {
  const { driver, loop } = question;
  return dryRunProgram(world, question, {
    program: attacherProgram,
    assemble: ({ started: { values, gates } }) => {
      const settings = toSettings(values, { errorCodes: gates.MutableCSINodeAllocatableCount });
      return {
        queue: queueNames[loop],
        loops: (ports) => attacherLoops(ports, { driver, settings }),
        assumed: assumedOf(driver),
      };
    },
  });
}
