// SPDX-License-Identifier: Apache-2.0
/** `csi-sidecars [all] --controllers=... [flags]`, `csi-sidecars explain KIND/NAME`, `csi-sidecars doctor [flags]`, `csi-sidecars leftovers [flags]` and `csi-sidecars chart-test [flags]`. */
import { systemSocketFiles } from '@csi-sidecars/node-driver-registrar';
import { runLeftovers } from '@csi-sidecars/provisioner';
import { runMain } from '@csi-sidecars/sidecar';
import { allProgram } from './all/program.ts';
import { runAll } from './all/run.ts';
import { runCommand } from './commands.ts';

const platform = process.platform === 'win32' ? 'windows' : 'unix';

void runMain(allProgram.name, (deps) =>
  runCommand(deps, {
    all: (own) => runAll({ ...own, files: systemSocketFiles(), platform }),
    // The controllers do not load it.
    explain: async (own) => {
      const { runExplain } = await import('@csi-sidecars/explain');
      return await runExplain({
        ...own,
        terminal: { columns: process.stdout.isTTY ? process.stdout.columns : undefined },
      });
    },
    // The controllers do not load it.
    doctor: async (own) => {
      const { runDoctor } = await import('@csi-sidecars/explain');
      return await runDoctor({
        ...own,
        terminal: { columns: process.stdout.isTTY ? process.stdout.columns : undefined },
      });
    },
    // The controllers ask nothing on a terminal.
    leftovers: async (own) => {
      const { processTerminal } = await import('./terminal.ts');
      return await runLeftovers({ ...own, terminal: processTerminal() });
    },
    // The controllers do not load it.
    'chart-test': async (own) => {
      const { runChartTest } = await import('./chart-test/run.ts');
      const { systemPodIo } = await import('./chart-test/pod-io.ts');
      const { hostName, startedAtMs } = own.host;
      return await runChartTest({ ...own, podIo: systemPodIo(`${hostName} ${startedAtMs}\n`) });
    },
  }),
);
