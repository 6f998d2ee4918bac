// SPDX-License-Identifier: Apache-2.0
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { livenessprobeProgram } from './flags.ts';

const { syntax, flags, gates } = livenessprobeProgram;

export const livenessprobeManifest: ProgramManifest<'livenessprobe', 'node'> = {
  name: 'livenessprobe',
  kind: 'node',
  package: 'livenessprobe',
  commandLine: 'livenessprobe',
  flags: { syntax, flags: { ...flags }, gates },
  rules: [],
  lockName: undefined,
  driverNeeds: [],
};
