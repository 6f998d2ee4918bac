// SPDX-License-Identifier: Apache-2.0
/** `csi-sidecars explain KIND/NAME`, `csi-sidecars audit [flags]`, `csi-sidecars leftovers [flags]` and `csi-sidecars chart-test [flags]`. */
import { runAudit, runExplain } from '@csi-sidecars/explain';
import { runLeftovers } from '@csi-sidecars/provisioner';
import { runMain } from '@csi-sidecars/sidecar';
import { systemPodIo } from './chart-test/pod-io.ts';
import { runChartTest } from './chart-test/run.ts';
import { runCommand } from './commands.ts';
import { processTerminal } from './terminal.ts';

void runMain('csi-sidecars', (deps) =>
  runCommand(deps, {
    explain: (own) =>
      runExplain({ ...own, terminal: { columns: process.stdout.isTTY ? process.stdout.columns : undefined } }),
    audit: runAudit,
    leftovers: (own) => runLeftovers({ ...own, terminal: processTerminal() }),
    'chart-test': (own) => {
      const { hostName, startedAtMs } = own.host;
      return runChartTest({ ...own, podIo: systemPodIo(`${hostName} ${startedAtMs}\n`) });
    },
  }),
);
