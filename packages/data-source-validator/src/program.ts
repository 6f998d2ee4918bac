// SPDX-License-Identifier: Apache-2.0
/** volume-data-source-validator as a program: what is its own between the first argument and the exit code. */
import { neededRules } from '@csi-sidecars/runtime';
import { exitCodes, type ProgramDeps, runControllerProgram } from '@csi-sidecars/sidecar';
import { createDataSourceValidator } from './data-source-validator.ts';
import { type DataSourceValidatorGate, dataSourceValidatorProgram, type DataSourceValidatorValues } from './flags.ts';
import { component, lockName } from './names.ts';
import { clusterRules } from './rbac.ts';
import { refusedFlags } from './read-settings.ts';
import { settingsOf } from './settings.ts';

export function runDataSourceValidator(deps: ProgramDeps): Promise<number> {
  return runControllerProgram<DataSourceValidatorValues, DataSourceValidatorGate, void>(
    deps,
    dataSourceValidatorProgram,
    {
      refused: refusedFlags,
      httpExitCode: exitCodes.fatal,
      // As upstream's, the page of metrics shows validations and nothing of queues and caches.
      servedMetrics: 'own',
      // It waits for the definition of populators while it works, and not here: a probe of its health finds it alive.
      open: () => Promise.resolve(),
      prepare: async ({ metrics: validationMetrics, started: { values } }) => ({
        lockName,
        rights: { cluster: neededRules(clusterRules, {}) },
        assemble: ({ recorderOf, ...ports }) =>
          createDataSourceValidator(
            { ...ports, events: recorderOf({ component }), validationMetrics },
            settingsOf({ workerThreads: values['worker-threads'], claims: 'trimmed' }),
          ),
      }),
    },
  );
}
