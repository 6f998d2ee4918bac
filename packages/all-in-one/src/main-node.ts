// SPDX-License-Identifier: Apache-2.0
/** `csi-sidecars node [flags]`. */
import { systemSocketFiles } from '@csi-sidecars/node-driver-registrar';
import { runPlainProgram } from '@csi-sidecars/sidecar';
import { nodeProgram } from './node/flags.ts';
import { runNode } from './node/node.ts';

const platform = process.platform === 'win32' ? 'windows' : 'unix';

void runPlainProgram(nodeProgram.name, (deps) => {
  const host = { ...deps.host, args: deps.host.args.slice(1), argv0: `${deps.host.argv0} node` };
  return runNode({ ...deps, host, files: systemSocketFiles(), platform });
});
