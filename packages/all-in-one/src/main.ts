// SPDX-License-Identifier: Apache-2.0
/** csi-sidecars SUB-COMMAND [flags]. */
import { systemSocketFiles } from '@csi-sidecars/node-driver-registrar';
import { type ProcessDeps, exitCodes, runSmall } from '@csi-sidecars/sidecar';
import { nodeProgram } from './node/flags.ts';
import { runNode } from './node/node.ts';

const platform = process.platform === 'win32' ? 'windows' : 'unix';

void runSmall(nodeProgram.name, async (deps) => {
  const [command = '', ...args] = deps.host.args;
  if (command !== 'node') return await explain(deps, command);
  const host = { ...deps.host, args, argv0: `${deps.host.argv0} node` };
  return await runNode({ ...deps, host, files: systemSocketFiles(), platform });
});

/** The usage text, for a request for help and for a wrong command line. */
async function explain({ host }: ProcessDeps, command: string): Promise<number> {
  if (/^--?version$/.test(command)) {
    host.stdout(`${host.argv0} ${host.version}\n`);
    return exitCodes.success;
  }
  const isAsked = /^(--?h|--?help|help)$/.test(command);
  const mistake = command === '' ? 'a command is missing' : `unknown command: ${command}`;
  const stderr = host.openStderr(() => '');
  stderr.write(
    `${isAsked ? '' : `${mistake}\n`}Usage of ${host.argv0}:\n  node [flags]\n    \tcsi-node-driver-registrar and livenessprobe, --csi-address and other flags: ${host.argv0} node --help\n`,
  );
  await stderr.flush();
  return isAsked ? exitCodes.success : exitCodes.usage;
}
