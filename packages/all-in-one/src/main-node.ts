// SPDX-License-Identifier: Apache-2.0
/** `csi-sidecars node [flags]`. */
import { systemSocketFiles } from '@csi-sidecars/node-driver-registrar';
import { runPlainProgram } from '@csi-sidecars/sidecar';
import { ofCommand } from './commands.ts';
import { nodeProgram } from './node/flags.ts';
import { runNode } from './node/node.ts';

const platform = process.platform === 'win32' ? 'windows' : 'unix';

void runPlainProgram(nodeProgram.name, (deps) =>
  runNode({ ...deps, host: ofCommand(deps.host, 'node'), files: systemSocketFiles(), platform }),
);
