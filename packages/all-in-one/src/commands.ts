// SPDX-License-Identifier: Apache-2.0
/** The word in front of the flags: which program runs, and what it sees of the command line. */
import { basename } from 'node:path';
import { exitCodes, type ProcessHost, type ProgramDeps } from '@csi-sidecars/sidecar';

/** What a person runs, and helm. They have a bundle of their own: the controllers do not load it. */
export const commandNames = ['explain', 'doctor', 'audit', 'leftovers', 'chart-test'] as const;
export type CommandName = (typeof commandNames)[number];

type Run = (deps: ProgramDeps) => Promise<number>;

export function isCommand(word: string | undefined): word is CommandName {
  return commandNames.some((name) => name === word);
}

/** Resolves with the exit code. Without a word, the controllers run. */
export function runControllers(deps: ProgramDeps, all: Run): Promise<number> {
  const { host } = deps;
  const [word = ''] = host.args;
  if (word === '' || word.startsWith('-')) return all(deps);
  if (word === 'all') return all({ ...deps, host: { ...host, args: host.args.slice(1) } });
  return usage(host, word);
}

/** Resolves with the exit code. */
export function runCommand(deps: ProgramDeps, commands: Readonly<Record<CommandName, Run>>): Promise<number> {
  const { host } = deps;
  const [word] = host.args;
  return isCommand(word) ? commands[word]({ ...deps, host: ofCommand(host, word) }) : usage(host, word ?? '');
}

/** The command sees its own arguments only. */
export function ofCommand<H extends ProcessHost>(host: H, command: string): H {
  return { ...host, args: host.args.slice(1), argv0: `${calledBy(host)} ${command}` };
}

/** kubectl runs a file of this name in the PATH as `kubectl csi-sidecars`. */
function calledBy({ argv0 }: ProcessHost): string {
  return basename(argv0) === 'kubectl-csi_sidecars' ? 'kubectl csi-sidecars' : argv0;
}

/** The answer to a command that does not exist. */
async function usage(host: ProcessHost, command: string): Promise<number> {
  const isAsked = command === 'help';
  const stderr = host.openStderr(() => '');
  const message = isAsked ? '' : `unknown command: ${command}\n`;
  const name = calledBy(host);
  stderr.write(
    `${message}Usage of ${name}:\n  [all] --controllers=... [flags]\n    \tthe controllers of a driver: ${name} --help\n  node [flags]\n    \tcsi-node-driver-registrar and livenessprobe, --csi-address and other flags: ${name} node --help\n  explain KIND/NAME [flags]\n    \twhy a claim, a pod or a snapshot waits, and whose turn it is: ${name} explain --help\n  doctor [flags]\n    \twhat is wrong with drivers and what runs beside them: ${name} doctor --help\n  audit --driver=NAME --driver-address=SOCKET [flags]\n    \twhat the driver has and the cluster does not know, and the other way round: ${name} audit --help\n  leftovers [flags]\n    \twhat a csi-provisioner left in the API, and its removal: ${name} leftovers --help\n  chart-test [flags]\n    \tthe test hook of the chart csi-driver: ${name} chart-test --help\n${message}`,
  );
  await stderr.flush();
  return isAsked ? exitCodes.success : exitCodes.usage;
}
