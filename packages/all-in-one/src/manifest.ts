// SPDX-License-Identifier: Apache-2.0
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { nodeProgram } from './node/flags.ts';

const { syntax, flags, gates } = nodeProgram;

export const allInOneManifest: ProgramManifest<'csi-sidecars', 'node'> = {
  name: 'csi-sidecars',
  kind: 'node',
  package: 'all-in-one',
  commandLine: 'csi-sidecars node',
  flags: { syntax, flags: { ...flags }, gates },
  rules: [],
  lockName: undefined,
  driverNeeds: [],
};
