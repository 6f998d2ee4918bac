// SPDX-License-Identifier: Apache-2.0
/** Command line of csi-snapshotter: upstream's flags, Go's flag syntax. */
import {
  boolFlag,
  durationFlag,
  gatesFlag,
  intFlag,
  releaseOnExitGate,
  retryFlags,
  standardFlags,
  stringFlag,
} from '@csi-sidecars/sidecar';
import type { Gate, GateSettings, ProgramFlags, RetryValues, StandardValues } from '@csi-sidecars/sidecar';

export interface SnapshotterValues extends StandardValues, RetryValues {
  /** Milliseconds. */
  readonly 'resync-period': number;
  readonly 'snapshot-name-prefix': string;
  readonly 'snapshot-name-uuid-length': number;
  readonly 'groupsnapshot-name-prefix': string;
  readonly 'groupsnapshot-name-uuid-length': number;
  readonly 'worker-threads': number;
  /** Milliseconds. */
  readonly timeout: number;
  readonly 'extra-create-metadata': boolean;
  readonly 'node-deployment': boolean;
  /** Our own flag. Milliseconds. */
  readonly 'audit-interval': number;
  readonly 'feature-gates': GateSettings;
}

export type SnapshotterGate = 'ReleaseLeaderElectionOnExit' | 'CSIVolumeGroupSnapshot' | 'VolumeSnapshotTopology';

const gates: Readonly<Record<SnapshotterGate, Gate>> = {
  ...releaseOnExitGate,
  CSIVolumeGroupSnapshot: { stage: 'GA', defaultValue: true },
  VolumeSnapshotTopology: { stage: 'ALPHA', defaultValue: false },
};

export const snapshotterProgram: ProgramFlags<SnapshotterValues, SnapshotterGate> = {
  name: 'csi-snapshotter',
  syntax: 'go',
  gates,
  flags: {
    ...standardFlags,
    ...retryFlags('snapshot'),
    'resync-period': durationFlag(900_000, 'Resync interval of the controller.'),
    'snapshot-name-prefix': stringFlag('snapshot', 'Prefix of the name of a created snapshot.'),
    'snapshot-name-uuid-length': intFlag(-1, 'Length of the UUID in a snapshot name; -1: not truncated.'),
    'groupsnapshot-name-prefix': stringFlag('groupsnapshot', 'Prefix of the name of a created group snapshot.'),
    'groupsnapshot-name-uuid-length': intFlag(-1, 'Length of the UUID in a group snapshot name; -1: not truncated.'),
    'worker-threads': intFlag(10, 'Number of worker threads per queue.'),
    timeout: durationFlag(60_000, 'Timeout of CSI calls of one operation.'),
    'extra-create-metadata': boolFlag(false, 'Add snapshot metadata to the parameters of create requests.'),
    'node-deployment': boolFlag(false, 'Distributed snapshotting: one replica per node.'),
    'audit-interval': durationFlag(0, "Period of the audit of the driver's snapshots, at least 10m; 0: none."),
    'feature-gates': gatesFlag(gates),
  },
};
