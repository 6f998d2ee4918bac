// SPDX-License-Identifier: Apache-2.0
/** Command line of csi-attacher: upstream's flags, Go's flag syntax. */
import {
  durationFlag,
  gatesFlag,
  intFlag,
  releaseOnExitGate,
  standardFlags,
  stringFlag,
  uintFlag,
} from '@csi-sidecars/sidecar';
import type { Gate, GateSettings, ProgramFlags, StandardValues } from '@csi-sidecars/sidecar';

export interface AttacherValues extends StandardValues {
  /** Milliseconds. */
  readonly resync: number;
  /** Milliseconds. */
  readonly timeout: number;
  /** Milliseconds. */
  readonly 'retry-interval-start': number;
  /** Milliseconds. */
  readonly 'retry-interval-max': number;
  readonly 'worker-threads': number;
  readonly 'max-entries': number;
  readonly 'default-fstype': string;
  /** Milliseconds. */
  readonly 'reconcile-sync': number;
  readonly 'max-grpc-log-length': number;
  readonly 'feature-gates': GateSettings;
}

export type AttacherGate = 'ReleaseLeaderElectionOnExit' | 'MutableCSINodeAllocatableCount';

const gates: Readonly<Record<AttacherGate, Gate>> = {
  ...releaseOnExitGate,
  MutableCSINodeAllocatableCount: { stage: 'GA', defaultValue: true },
};

export const attacherProgram: ProgramFlags<AttacherValues, AttacherGate> = {
  name: 'csi-attacher',
  syntax: 'go',
  gates,
  flags: {
    ...standardFlags,
    resync: durationFlag(600_000, 'Resync interval of the controller; 0 disables.'),
    timeout: durationFlag(15_000, 'Timeout for waiting for attaching or detaching the volume.'),
    'retry-interval-start': durationFlag(
      1_000,
      'Initial retry interval of a failed attach or detach; doubles with each failure.',
    ),
    'retry-interval-max': durationFlag(300_000, 'Maximum retry interval of a failed attach or detach.'),
    'worker-threads': uintFlag(10, 'Number of worker threads per queue.'),
    'max-entries': intFlag(0, 'Maximum entries per page in ListVolumes; 0: no limit.'),
    'default-fstype': stringFlag('', 'Default file system type of volumes that name none.'),
    'reconcile-sync': durationFlag(60_000, 'Pause between two comparisons with ListVolumes.'),
    'max-grpc-log-length': intFlag(-1, 'Maximum characters of a logged gRPC response; -1: no limit.'),
    'feature-gates': gatesFlag(gates),
  },
};
