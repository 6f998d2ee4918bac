// SPDX-License-Identifier: Apache-2.0
/** Command line of csi-resizer: upstream's flags, Go's flag syntax. */
import {
  boolFlag,
  durationFlag,
  eventsFlags,
  gatesFlag,
  intFlag,
  masterFlag,
  releaseOnExitGate,
  retryFlags,
  standardFlags,
} from '@csi-sidecars/sidecar';
import type {
  EventsValues,
  Gate,
  GateSettings,
  ProgramFlags,
  RetryValues,
  StandardValues,
} from '@csi-sidecars/sidecar';

export interface ResizerValues extends StandardValues, EventsValues, RetryValues {
  readonly master: string;
  /** Milliseconds. */
  readonly 'resync-period': number;
  readonly workers: number;
  readonly 'extra-modify-metadata': boolean;
  /** Milliseconds. */
  readonly timeout: number;
  /** Milliseconds. */
  readonly 'resize-timeout': number;
  /** Milliseconds. */
  readonly 'modify-timeout': number;
  readonly 'handle-volume-inuse-error': boolean;
  readonly 'feature-gates': GateSettings;
}

export type ResizerGate =
  | 'ReleaseLeaderElectionOnExit'
  | 'AnnotateFsResize'
  | 'RecoverVolumeExpansionFailure'
  | 'VolumeAttributesClass';

const gates: Readonly<Record<ResizerGate, Gate>> = {
  ...releaseOnExitGate,
  AnnotateFsResize: { stage: 'BETA', defaultValue: true },
  // Upstream v2.3.0 does not know it any more; deployments set it to either value.
  RecoverVolumeExpansionFailure: { stage: 'GA', defaultValue: true },
  VolumeAttributesClass: { stage: 'GA', defaultValue: true },
};

export const resizerProgram: ProgramFlags<ResizerValues, ResizerGate> = {
  name: 'csi-resizer',
  syntax: 'go',
  gates,
  flags: {
    ...standardFlags,
    ...eventsFlags,
    ...retryFlags('resize'),
    master: masterFlag,
    'resync-period': durationFlag(600_000, 'Resync period of the informers.'),
    workers: intFlag(10, 'Concurrency per controller.'),
    'extra-modify-metadata': boolFlag(false, 'Add claim and volume names to the parameters of modify requests.'),
    timeout: durationFlag(10_000, 'Timeout of CSI calls.'),
    'resize-timeout': durationFlag(10_000, 'Timeout of CSI calls of the resizer; ignored where --timeout is given.'),
    'modify-timeout': durationFlag(10_000, 'Timeout of CSI calls of the modifier; ignored where --timeout is given.'),
    'handle-volume-inuse-error': boolFlag(
      true,
      'Watch pods and hold back expansion of volumes in use that failed before.',
    ),
    'feature-gates': gatesFlag(gates),
  },
};
