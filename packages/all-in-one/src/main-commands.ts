// SPDX-License-Identifier: Apache-2.0
/** `csi-sidecars explain KIND/NAME`, `doctor`, `audit`, `leftovers` and `chart-test`. */
import { runAudit, runDoctor, runExplain } from '@csi-sidecars/explain';
import { runLeftovers } from '@csi-sidecars/provisioner';
import { type ProgramDeps, runMain } from '@csi-sidecars/sidecar';
import { systemPodIo } from './chart-test/pod-io.ts';
import { runChartTest } from './chart-test/run.ts';
import { runCommand } from './commands.ts';
import { processTerminal } from './terminal.ts';

const terminal = { columns: process.stdout.isTTY ? process.stdout.columns : undefined };

const run = (deps: ProgramDeps): Promise<number> =>
  runCommand(deps, {
    explain: (own) => runExplain({ ...own, terminal }),
    doctor: (own) => runDoctor({ ...own, terminal }),
    audit: runAudit,
    leftovers: (own) => runLeftovers({ ...own, terminal: processTerminal() }),
    'chart-test': (own) => {
      const { hostName, startedAtMs } = own.host;
      return runChartTest({ ...own, podIo: systemPodIo(`${hostName} ${startedAtMs}\n`) });
    },
  });

// Objects that are read are reduced at once, and what they were made of is garbage.
void runMain('csi-sidecars', run, { heap: { young: 'small' } });
