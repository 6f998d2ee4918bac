// SPDX-License-Identifier: Apache-2.0
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { dataSourceValidatorProgram } from './flags.ts';
import { lockName } from './names.ts';
import { clusterRules } from './rbac.ts';

const { syntax, flags, gates } = dataSourceValidatorProgram;

export const dataSourceValidatorManifest: ProgramManifest<'volume-data-source-validator', 'controller'> = {
  name: 'volume-data-source-validator',
  kind: 'controller',
  package: 'data-source-validator',
  commandLine: 'volume-data-source-validator',
  flags: { syntax, flags: { ...flags }, gates },
  rules: clusterRules,
  // One for the cluster, whatever the drivers.
  lockName: () => lockName,
  driverNeeds: [],
};
