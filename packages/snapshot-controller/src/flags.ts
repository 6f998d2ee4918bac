// SPDX-License-Identifier: Apache-2.0
/** Command line of snapshot-controller: upstream's flags, Go's flag syntax. No driver, hence no `--csi-address`. */
import {
  automaxprocsFlag,
  boolFlag,
  debugExplainFlags,
  durationFlag,
  endpointFlags,
  eventsFlags,
  gatesFlag,
  intFlag,
  kubeApiFlags,
  leaderElectionFlags,
  loggingFlags,
  releaseOnExitGate,
  retryFlags,
  rightsFlags,
  tracingFlags,
  versionFlag,
} from '@csi-sidecars/sidecar';
import type {
  DebugExplainValues,
  EndpointValues,
  EventsValues,
  Gate,
  GateSettings,
  KubeApiValues,
  LeaderElectionValues,
  LoggingValues,
  ProgramFlags,
  RetryValues,
  RightsValues,
  TracingValues,
} from '@csi-sidecars/sidecar';

export interface SnapshotControllerValues
  extends
    LoggingValues,
    LeaderElectionValues,
    KubeApiValues,
    RightsValues,
    EndpointValues,
    EventsValues,
    DebugExplainValues,
    TracingValues,
    RetryValues {
  readonly automaxprocs: boolean;
  readonly version: boolean;
  /** Milliseconds. */
  readonly 'resync-period': number;
  readonly 'worker-threads': number;
  readonly 'enable-distributed-snapshotting': boolean;
  readonly 'prevent-volume-mode-conversion': boolean;
  /** Our own flag. */
  readonly 'enable-data-source-validator': boolean;
  /** Milliseconds. */
  readonly 'retry-crd-interval-max': number;
  readonly 'feature-gates': GateSettings;
}

export type SnapshotControllerGate =
  | 'ReleaseLeaderElectionOnExit'
  | 'CSIVolumeGroupSnapshot'
  | 'VolumeSnapshotTopology';

const gates: Readonly<Record<SnapshotControllerGate, Gate>> = {
  ...releaseOnExitGate,
  CSIVolumeGroupSnapshot: { stage: 'GA', defaultValue: true },
  // Accepted, so that one setting serves all three programs. Nothing here depends on it.
  VolumeSnapshotTopology: { stage: 'ALPHA', defaultValue: false },
};

export const snapshotControllerProgram: ProgramFlags<SnapshotControllerValues, SnapshotControllerGate> = {
  name: 'snapshot-controller',
  syntax: 'go',
  gates,
  flags: {
    ...loggingFlags,
    ...leaderElectionFlags,
    ...kubeApiFlags,
    ...rightsFlags,
    ...endpointFlags,
    ...eventsFlags,
    ...debugExplainFlags,
    ...tracingFlags,
    ...retryFlags('snapshot'),
    automaxprocs: automaxprocsFlag,
    version: versionFlag,
    'resync-period': durationFlag(900_000, 'Resync interval of the controller.'),
    'worker-threads': intFlag(10, 'Number of worker threads per queue.'),
    'enable-distributed-snapshotting': boolFlag(
      false,
      'Let node-local snapshotters handle snapshots of their volumes.',
    ),
    'prevent-volume-mode-conversion': boolFlag(true, 'Record the volume mode of the source in snapshot contents.'),
    'enable-data-source-validator': boolFlag(false, 'Run volume-data-source-validator too.'),
    'retry-crd-interval-max': durationFlag(30_000, 'Maximum wait for the custom resource definitions at start.'),
    'feature-gates': gatesFlag(gates),
  },
};
