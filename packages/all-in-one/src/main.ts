// SPDX-License-Identifier: Apache-2.0
/** csi-sidecars SUB-COMMAND [flags]. */
import { systemSocketFiles } from '@csi-sidecars/node-driver-registrar';
import { type ProcessDeps, exitCodes, runSmall } from '@csi-sidecars/sidecar';
import { nodeProgram } from './node/flags.ts';
import { runNode } from './node/node.ts';

const platform = process.platform === 'win32' ? 'windows' : 'unix';

void runSmall(nodeProgram.name, async (deps) => {
  const [command = '', ...args] = deps.world.args;
  if (command !== 'node') return await explain(deps, command);
  const world = { ...deps.world, args, argv0: `${deps.world.argv0} node` };
  return await runNode({ ...deps, world, files: systemSocketFiles(), platform });
});

/** The usage text, for a request for help and for a wrong command line. */
async function explain({ world }: ProcessDeps, command: string): Promise<number> {
  if (/^--?version$/.test(command)) {
    world.stdout(`${world.argv0} ${world.version}\n`);
    return exitCodes.success;
  }
  const isAsked = /^(--?h|--?help|help)$/.test(command);
  const mistake = command === '' ? 'a command is missing' : `unknown command: ${command}`;
  const stderr = world.openStderr(() => '');
  stderr.write(
    `${isAsked ? '' : `${mistake}\n`}Usage of ${world.argv0}:\n  node [flags]\n    \tcsi-node-driver-registrar and livenessprobe, --csi-address and other flags: ${world.argv0} node --help\n`,
  );
  await stderr.flush();
  return isAsked ? exitCodes.success : exitCodes.usage;
}
