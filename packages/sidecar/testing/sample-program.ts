// SPDX-License-Identifier: Apache-2.0
/** The command line of a sidecar that stands for all of them. */
import {
  boolFlag,
  durationFlag,
  type Gate,
  type GateSettings,
  gatesFlag,
  releaseOnExitGate,
  standardFlags,
} from '../src/index.ts';
import type { ProgramFlags, StandardValues } from '../src/index.ts';

export interface SampleValues extends StandardValues {
  /** Milliseconds. */
  readonly timeout: number;
  readonly 'enable-pprof': boolean;
  readonly 'feature-gates': GateSettings;
}

export type SampleGate = 'ReleaseLeaderElectionOnExit' | 'Finished';

const gates: Readonly<Record<SampleGate, Gate>> = {
  ...releaseOnExitGate,
  Finished: { stage: 'GA', defaultValue: true },
};

export const sampleProgram: ProgramFlags<SampleValues, SampleGate> = {
  name: 'csi-sample',
  syntax: 'go',
  gates,
  flags: {
    ...standardFlags,
    timeout: durationFlag(15_000, 'Timeout of CSI calls.'),
    'enable-pprof': boolFlag(false, 'Serve profiles.'),
    'feature-gates': gatesFlag(gates),
  },
};
