// SPDX-License-Identifier: Apache-2.0
/** snapshot-controller as a dry run: its own loops, with one key. What it assumes is described in docs/behaviour/dry-run.md. */
import { noMetrics } from '@csi-sidecars/runtime';
import { type DryQuestion, dryRunProgram, type DryRunResult, type DryWorld } from '@csi-sidecars/sidecar';
import { groupContentKind, singleContentKind } from './content/kinds.ts';
import { snapshotControllerProgram } from './flags.ts';
import { toSettings } from './read-settings.ts';
import { snapshotControllerLoops } from './snapshot-controller.ts';

/** Keys: the key of the object, `namespace/name` or `name`. */
export type SnapshotControllerDryLoop = 'snapshots' | 'groupSnapshots' | 'contents' | 'groupContents' | 'claims';

const queues: Readonly<Record<SnapshotControllerDryLoop, string>> = {
  snapshots: 'snapshot-controller-snapshot',
  groupSnapshots: 'snapshot-controller-group-snapshot',
  contents: singleContentKind.queueName,
  groupContents: groupContentKind.queueName,
  claims: 'snapshot-controller-claim',
};

export interface SnapshotControllerDryQuestion extends DryQuestion<SnapshotControllerDryLoop> {
  /** Whether the cluster serves group snapshots. */
  readonly servesGroups: boolean;
}

export function dryRun(world: DryWorld, question: SnapshotControllerDryQuestion): Promise<DryRunResult> {
  const { loop, servesGroups } = question;
  return dryRunProgram(world, question, {
    program: snapshotControllerProgram,
    assemble: ({ started: { values, gates } }) => {
      const settings = toSettings(values, { groups: gates.CSIVolumeGroupSnapshot && servesGroups });
      return {
        queue: queues[loop],
        loops: (ports) => snapshotControllerLoops({ ...ports, operationMetrics: noMetrics }, settings),
        assumed: [],
      };
    },
  });
}
