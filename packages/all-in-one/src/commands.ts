// SPDX-License-Identifier: Apache-2.0
/** The word in front of the flags: which program runs, and what it sees of the command line. */
import { exitCodes, type ProcessHost, type ProgramDeps } from '@csi-sidecars/sidecar';

export type Commands = Readonly<
  Record<'all' | 'explain' | 'doctor' | 'leftovers' | 'chart-test', (deps: ProgramDeps) => Promise<number>>
>;

/** Resolves with the exit code. Without a command, the controllers run. */
export function runCommand(deps: ProgramDeps, commands: Commands): Promise<number> {
  const { host } = deps;
  const [command = ''] = host.args;
  if (command === '' || command.startsWith('-')) return commands.all(deps);
  if (command === 'all') return commands.all({ ...deps, host: { ...host, args: host.args.slice(1) } });
  if (command === 'explain' || command === 'doctor' || command === 'leftovers' || command === 'chart-test') {
    return commands[command]({ ...deps, host: ofCommand(host, command) });
  }
  return usage(host, command);
}

/** The command sees its own arguments only. */
export function ofCommand<H extends ProcessHost>(host: H, command: string): H {
  return { ...host, args: host.args.slice(1), argv0: `${host.argv0} ${command}` };
}

/** The answer to a command that does not exist. */
async function usage({ argv0, openStderr }: ProcessHost, command: string): Promise<number> {
  const isAsked = command === 'help';
  const stderr = openStderr(() => '');
  const message = isAsked ? '' : `unknown command: ${command}\n`;
  stderr.write(
    `${message}Usage of ${argv0}:\n  [all] --controllers=... [flags]\n    \tthe controllers of a driver: ${argv0} --help\n  node [flags]\n    \tcsi-node-driver-registrar and livenessprobe, --csi-address and other flags: ${argv0} node --help\n  explain KIND/NAME [flags]\n    \twhy a claim, a pod or a snapshot waits, and whose turn it is: ${argv0} explain --help\n  doctor [flags]\n    \twhat is wrong with drivers and what runs beside them: ${argv0} doctor --help\n  leftovers [flags]\n    \twhat a csi-provisioner left in the API, and its removal: ${argv0} leftovers --help\n  chart-test [flags]\n    \tthe test hook of the chart csi-driver: ${argv0} chart-test --help\n${message}`,
  );
  await stderr.flush();
  return isAsked ? exitCodes.success : exitCodes.usage;
}
