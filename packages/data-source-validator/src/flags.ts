// SPDX-License-Identifier: Apache-2.0
/** Command line of volume-data-source-validator: upstream's flags, Go's flag syntax, and the common ones that upstream lacks. */
import {
  automaxprocsFlag,
  debugExplainFlags,
  endpointFlags,
  gatesFlag,
  intFlag,
  kubeApiFlags,
  leaderElectionFlags,
  loggingFlags,
  releaseOnExitGate,
  rightsFlags,
  tracingFlags,
  versionFlag,
} from '@csi-sidecars/sidecar';
import type {
  DebugExplainValues,
  EndpointValues,
  GateSettings,
  KubeApiValues,
  LeaderElectionValues,
  LoggingValues,
  ProgramFlags,
  RightsValues,
  TracingValues,
} from '@csi-sidecars/sidecar';
import { component } from './names.ts';

export interface DataSourceValidatorValues
  extends
    LoggingValues,
    LeaderElectionValues,
    KubeApiValues,
    RightsValues,
    EndpointValues,
    DebugExplainValues,
    TracingValues {
  readonly automaxprocs: boolean;
  readonly version: boolean;
  readonly 'worker-threads': number;
  readonly 'feature-gates': GateSettings;
}

export type DataSourceValidatorGate = 'ReleaseLeaderElectionOnExit';

export const dataSourceValidatorProgram: ProgramFlags<DataSourceValidatorValues, DataSourceValidatorGate> = {
  name: component,
  syntax: 'go',
  gates: releaseOnExitGate,
  flags: {
    ...loggingFlags,
    ...leaderElectionFlags,
    ...kubeApiFlags,
    ...rightsFlags,
    ...endpointFlags,
    ...debugExplainFlags,
    ...tracingFlags,
    automaxprocs: automaxprocsFlag,
    version: versionFlag,
    'worker-threads': intFlag(10, 'Number of worker threads.'),
    'feature-gates': gatesFlag(releaseOnExitGate),
  },
};
