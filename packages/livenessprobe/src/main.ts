// SPDX-License-Identifier: Apache-2.0
/** livenessprobe: the process around it. It has nothing to clean up, so a signal ends it at once, as upstream's. */
import { ExitError, exitCodes, runProgram, runSmall } from '@csi-sidecars/sidecar';
import { livenessprobeProgram as program } from './flags.ts';
import { runLivenessprobe } from './livenessprobe.ts';
import { readSettings } from './settings.ts';

void runSmall(program.name, (deps) =>
  runProgram(deps, { program, start: { order: ['gates'], versionLine: 'omitted' } }, async ({ values, log }) => {
    const { world, lifecycle } = deps;
    const read = readSettings(values);
    if (read.kind === 'refused') {
      throw new ExitError(read.cause === 'endpoints' ? exitCodes.failure : exitCodes.panic, read.message);
    }
    return await runLivenessprobe({ clock: world.clock, log, world }, read.settings, lifecycle.signal);
  }),
);
