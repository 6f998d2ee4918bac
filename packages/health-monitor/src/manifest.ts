// SPDX-License-Identifier: Apache-2.0
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { healthMonitorProgram } from './flags.ts';
import { lockNameOf } from './names.ts';
import { clusterRules } from './rbac.ts';

const { syntax, flags, gates } = healthMonitorProgram;

export const healthMonitorManifest: ProgramManifest<'csi-external-health-monitor-controller', 'controller'> = {
  name: 'csi-external-health-monitor-controller',
  kind: 'controller',
  package: 'health-monitor',
  commandLine: 'csi-external-health-monitor-controller',
  flags: { syntax, flags: { ...flags }, gates },
  rules: clusterRules,
  lockName: lockNameOf,
  driverNeeds: [
    { capability: 'CONTROLLER_SERVICE', without: 'The program ends with exit code 1.' },
    { capability: 'GET_VOLUME_HEALTH', without: 'The program ends with exit code 1.' },
    { capability: 'LIST_VOLUME_HEALTH', without: 'The driver is asked about one volume after another.' },
  ],
};
