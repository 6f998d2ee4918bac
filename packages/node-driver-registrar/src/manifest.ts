// SPDX-License-Identifier: Apache-2.0
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { nodeDriverRegistrarProgram } from './flags.ts';

const { syntax, flags, gates } = nodeDriverRegistrarProgram;

export const nodeDriverRegistrarManifest: ProgramManifest<'csi-node-driver-registrar', 'node'> = {
  name: 'csi-node-driver-registrar',
  kind: 'node',
  package: 'node-driver-registrar',
  commandLine: 'csi-node-driver-registrar',
  flags: { syntax, flags: { ...flags }, gates },
  rules: [],
  lockName: undefined,
  driverNeeds: [],
};
