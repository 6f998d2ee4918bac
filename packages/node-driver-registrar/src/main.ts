// SPDX-License-Identifier: Apache-2.0
import { runPlainProgram } from '@csi-sidecars/sidecar';
import { nodeDriverRegistrarProgram } from './flags.ts';
import { runRegistrarProgram } from './program.ts';
import { systemSocketFiles } from './socket-files.ts';

const platform = process.platform === 'win32' ? 'windows' : 'unix';
void runPlainProgram(nodeDriverRegistrarProgram.name, (deps) =>
  runRegistrarProgram({ ...deps, files: systemSocketFiles(), platform }),
);
