// SPDX-License-Identifier: Apache-2.0
/** The command line of csi-attacher: upstream's flags in Go's flag syntax. */
import {
  durationFlag,
  gatesFlag,
  intFlag,
  rare,
  releaseOnExitGate,
  retryFlags,
  standardFlags,
  stringFlag,
  uintFlag,
} from '@csi-sidecars/sidecar';
import type { Gate, GateSettings, ProgramFlags, RetryValues, StandardValues } from '@csi-sidecars/sidecar';

export interface AttacherValues extends StandardValues, RetryValues {
  /** Milliseconds. */
  readonly resync: number;
  /** Milliseconds. */
  readonly timeout: number;
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
    ...retryFlags('attach or detach'),
    resync: durationFlag(600_000, 'Resync interval of the controller; 0 disables.'),
    timeout: durationFlag(15_000, 'Timeout for waiting for attaching or detaching the volume.'),
    'worker-threads': uintFlag(10, 'Number of worker threads per queue.'),
    'max-entries': intFlag(0, 'Maximum entries per page in ListVolumes; 0: no limit.'),
    'default-fstype': stringFlag('', 'Default file system type of volumes that name none.'),
    'reconcile-sync': durationFlag(60_000, 'Pause between two comparisons with ListVolumes.'),
    'max-grpc-log-length': rare(intFlag(-1, 'Maximum characters of a logged gRPC response; -1: no limit.')),
    'feature-gates': gatesFlag(gates),
  },
};
