// SPDX-License-Identifier: Apache-2.0
/** The command line of csi-external-health-monitor-controller: upstream's flags in Go's flag syntax. */
import {
  durationFlag,
  gatesFlag,
  intFlag,
  rare,
  releaseOnExitGate,
  standardFlags,
  uintFlag,
} from '@csi-sidecars/sidecar';
import type { Gate, GateSettings, ProgramFlags, StandardValues } from '@csi-sidecars/sidecar';

export interface HealthMonitorValues extends StandardValues {
  /** Milliseconds. */
  readonly 'monitor-interval': number;
  /** Milliseconds. */
  readonly 'list-volumes-interval': number;
  /** Milliseconds. Without effect. */
  readonly 'volume-list-add-interval': number;
  /** Milliseconds. Without effect. */
  readonly resync: number;
  /** Milliseconds. */
  readonly timeout: number;
  readonly 'worker-threads': number;
  /** Our own flag. */
  readonly 'max-entries': number;
  /** Our own flag. */
  readonly 'feature-gates': GateSettings;
}

export type HealthMonitorGate = 'ReleaseLeaderElectionOnExit';

const gates: Readonly<Record<HealthMonitorGate, Gate>> = releaseOnExitGate;

const nodesAreNotWatched = 'Nodes are not watched any more: remove the flag';

export const healthMonitorProgram: ProgramFlags<HealthMonitorValues, HealthMonitorGate> = {
  name: 'csi-external-health-monitor-controller',
  syntax: 'go',
  gates,
  flags: {
    ...standardFlags,
    'monitor-interval': {
      ...durationFlag(
        60_000,
        'For a driver that does not list: the time in which every volume is asked about once, with at most ten calls a second.',
      ),
      brief: 'How often each volume is asked about, if the driver does not list.',
    },
    'list-volumes-interval': durationFlag(300_000, 'Pause between two lists, if the driver lists.'),
    'volume-list-add-interval': rare(
      durationFlag(300_000, 'Accepted for compatibility; a volume is asked about as soon as it is Bound.'),
    ),
    resync: rare(durationFlag(600_000, 'Accepted for compatibility; nothing depends on a resync.')),
    timeout: durationFlag(15_000, 'Timeout of each call to the driver and of each status patch.'),
    'worker-threads': uintFlag(10, 'Number of volumes that are asked about, and of claims that are written, at once.'),
    'max-entries': intFlag(0, 'Maximum entries per page in ControllerListVolumeHealth; 0: no limit.'),
    'feature-gates': gatesFlag(gates),
  },
  removed: { 'enable-node-watcher': nodesAreNotWatched, 'node-list-add-interval': nodesAreNotWatched },
};
