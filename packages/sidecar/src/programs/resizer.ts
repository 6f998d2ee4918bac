// SPDX-License-Identifier: Apache-2.0
/** Command line of csi-resizer. */
import { boolFlag, durationFlag, intFlag, stringFlag } from '../flags/flag.ts';
import type { GateSettings } from '../flags/flag.ts';
import type { Gate } from '../flags/gates.ts';
import type { ProgramFlags } from './program.ts';
import { gatesFlag, releaseOnExitGate, retryFlags, standardFlags } from './shared-flags.ts';
import type { RetryValues, StandardValues } from './shared-flags.ts';

export interface ResizerValues extends StandardValues, RetryValues {
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
  // Unknown to the newest original, but manifests in the field set it, to either value.
  RecoverVolumeExpansionFailure: { stage: 'GA', defaultValue: true },
  VolumeAttributesClass: { stage: 'GA', defaultValue: true },
};

export const resizerProgram: ProgramFlags<ResizerValues, ResizerGate> = {
  name: 'csi-resizer',
  syntax: 'go',
  gates,
  flags: {
    ...standardFlags,
    ...retryFlags('resize'),
    master: stringFlag('', 'API server URL.'),
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
