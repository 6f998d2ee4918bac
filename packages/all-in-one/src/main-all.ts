// SPDX-License-Identifier: Apache-2.0
/** `csi-sidecars [all] --controllers=... [flags]`. */
import { systemSocketFiles } from '@csi-sidecars/node-driver-registrar';
import { runMain } from '@csi-sidecars/sidecar';
import { allProgram } from './all/program.ts';
import { runAll } from './all/run.ts';
import { runControllers } from './commands.ts';

const platform = process.platform === 'win32' ? 'windows' : 'unix';

void runMain(allProgram.name, (deps) =>
  runControllers(deps, (own) => runAll({ ...own, files: systemSocketFiles(), platform })),
);
