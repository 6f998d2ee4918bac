// SPDX-License-Identifier: Apache-2.0
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { snapshotControllerProgram } from './flags.ts';
import { lockName } from './names.ts';
import { clusterRules } from './rbac.ts';

const { syntax, flags, gates } = snapshotControllerProgram;

export const snapshotControllerManifest: ProgramManifest<'snapshot-controller', 'controller'> = {
  name: 'snapshot-controller',
  kind: 'controller',
  package: 'snapshot-controller',
  commandLine: 'snapshot-controller',
  flags: { syntax, flags: { ...flags }, gates },
  rules: clusterRules,
  // One for the cluster, whatever the drivers.
  lockName: () => lockName,
  driverNeeds: [],
};
