// SPDX-License-Identifier: Apache-2.0
/** csi-external-health-monitor-controller as a dry run: its own loops, with one key. What it assumes is described in docs/behaviour/dry-run.md. */
import {
  assumedOf,
  type DryDriverQuestion,
  dryRunProgram,
  type DryRunResult,
  type DryWorld,
} from '@csi-sidecars/sidecar';
import { healthMonitorProgram } from './flags.ts';
import { healthMonitorLoops } from './health-monitor.ts';
import { queueNames } from './names.ts';
import { toSettings } from './read-settings.ts';

/** Keys: the name of a PersistentVolume. `bound` exists for a driver that does not list. */
export type HealthMonitorDryLoop = keyof typeof queueNames;

export function dryRun(world: DryWorld, question: DryDriverQuestion<HealthMonitorDryLoop>): Promise<DryRunResult> {
  const { driver, loop } = question;
  return dryRunProgram(world, question, {
    program: healthMonitorProgram,
    assemble: ({ started: { values } }) => {
      const settings = toSettings(values);
      return {
        queue: queueNames[loop],
        loops: ({ driverEvents: events, ...ports }) => healthMonitorLoops({ ...ports, events }, { driver, settings }),
        assumed: assumedOf(driver),
      };
    },
  });
}
