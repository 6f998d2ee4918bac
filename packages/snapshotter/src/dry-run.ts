// SPDX-License-Identifier: Apache-2.0
/** csi-snapshotter as a dry run: its own loops, with one key. What it assumes is described in docs/behaviour/dry-run.md. */
import {
  assumedOf,
  type DryDriverQuestion,
  dryRunProgram,
  type DryRunResult,
  type DryWorld,
} from '@csi-sidecars/sidecar';
import { snapshotKind } from './content/kind.ts';
import { snapshotterProgram } from './flags.ts';
import { groupSnapshotKind } from './group-content/kind.ts';
import { toSettings } from './read-settings.ts';
import { snapshotterLoops } from './snapshotter.ts';

/** Keys: the name of a VolumeSnapshotContent, or of a VolumeGroupSnapshotContent. */
export type SnapshotterDryLoop = 'contents' | 'groupContents';

const queues: Readonly<Record<SnapshotterDryLoop, string>> = {
  contents: snapshotKind.queueName,
  groupContents: groupSnapshotKind.queueName,
};

export interface SnapshotterDryQuestion extends DryDriverQuestion<SnapshotterDryLoop> {
  /** Whether the cluster serves group snapshots. */
  readonly servesGroups: boolean;
  /** The node of the instance with `--node-deployment`. Undefined: not known, and contents of all nodes are looked at. */
  readonly nodeName?: string | undefined;
}

export function dryRun(world: DryWorld, question: SnapshotterDryQuestion): Promise<DryRunResult> {
  const { driver, loop, servesGroups, nodeName } = question;
  return dryRunProgram(world, question, {
    program: snapshotterProgram,
    assemble: ({ started: { values, gates } }) => {
      const settings = toSettings(values, {
        nodeName,
        groupSnapshots: gates.CSIVolumeGroupSnapshot && servesGroups,
        snapshotTopology: gates.VolumeSnapshotTopology,
      });
      return {
        queue: queues[loop],
        loops: (ports) => snapshotterLoops(ports, { driver, settings }),
        assumed: assumedOf(driver),
      };
    },
  });
}
