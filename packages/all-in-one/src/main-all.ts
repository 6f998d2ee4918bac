// SPDX-License-Identifier: Apache-2.0
/** `csi-sidecars [all] --controllers=... [flags]`, `csi-sidecars leftovers [flags]` and `csi-sidecars chart-test [flags]`. */
import { systemSocketFiles } from '@csi-sidecars/node-driver-registrar';
import { runLeftovers } from '@csi-sidecars/provisioner';
import { exitCodes, type ProgramDeps, runMain } from '@csi-sidecars/sidecar';
import { allProgram } from './all/program.ts';
import { runAll } from './all/run.ts';

const platform = process.platform === 'win32' ? 'windows' : 'unix';

void runMain(allProgram.name, async (deps) => {
  const { args } = deps.host;
  const [command = ''] = args;
  if (command === 'leftovers') return await listLeftovers(ofCommand(deps, command));
  if (command === 'chart-test') return await testChart(ofCommand(deps, command));
  if (command !== 'all' && command !== '' && !command.startsWith('-')) return await explain(deps, command);
  const host = { ...deps.host, args: command === 'all' ? args.slice(1) : args };
  return await runAll({ ...deps, host, files: systemSocketFiles(), platform });
});

/** The command sees its own arguments only. */
function ofCommand({ host, ...deps }: ProgramDeps, command: string): ProgramDeps {
  return { ...deps, host: { ...host, args: host.args.slice(1), argv0: `${host.argv0} ${command}` } };
}

/** The controllers ask nothing on a terminal. */
async function listLeftovers(deps: ProgramDeps): Promise<number> {
  const { processTerminal } = await import('./terminal.ts');
  return await runLeftovers({ ...deps, terminal: processTerminal() });
}

/** The controllers do not load it. */
async function testChart(deps: ProgramDeps): Promise<number> {
  const { runChartTest } = await import('./chart-test/run.ts');
  const { systemPodIo } = await import('./chart-test/pod-io.ts');
  const { hostName, startedAtMs } = deps.host;
  return await runChartTest({ ...deps, podIo: systemPodIo(`${hostName} ${startedAtMs}\n`) });
}

/** The answer to a command that does not exist. */
async function explain({ host }: ProgramDeps, command: string): Promise<number> {
  const isAsked = command === 'help';
  const stderr = host.openStderr(() => '');
  const message = isAsked ? '' : `unknown command: ${command}\n`;
  stderr.write(
    `${message}Usage of ${host.argv0}:\n  [all] --controllers=... [flags]\n    \tthe controllers of a driver: ${host.argv0} --help\n  node [flags]\n    \tcsi-node-driver-registrar and livenessprobe, --csi-address and other flags: ${host.argv0} node --help\n  leftovers [flags]\n    \twhat a csi-provisioner left in the API, and its removal: ${host.argv0} leftovers --help\n  chart-test [flags]\n    \tthe test hook of the chart csi-driver: ${host.argv0} chart-test --help\n${message}`,
  );
  await stderr.flush();
  return isAsked ? exitCodes.success : exitCodes.usage;
}
