// SPDX-License-Identifier: Apache-2.0
/** The command line of csi-sidecars as a value. */
import type { FlagsOf, ProgramFlags } from '@csi-sidecars/sidecar';
import { allFlags, allGates } from './command-line.ts';
import type { AllValues } from './plan.ts';

export const allProgram: ProgramFlags<AllValues, string> = {
  name: 'csi-sidecars',
  syntax: 'mixed',
  gates: allGates,
  flags: allFlags as unknown as FlagsOf<AllValues>,
};
