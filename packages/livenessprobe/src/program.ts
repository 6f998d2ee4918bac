// SPDX-License-Identifier: Apache-2.0
/** livenessprobe from its arguments to its exit code. It has nothing to clean up: a signal ends it at once, as upstream. */
import { ExitError, type ProcessDeps, runProgram } from '@csi-sidecars/sidecar';
import { livenessprobeProgram as program } from './flags.ts';
import { runLivenessprobe } from './livenessprobe.ts';
import { readSettings } from './settings.ts';

export function runLivenessprobeProgram(deps: ProcessDeps): Promise<number> {
  const { host, lifecycle } = deps;
  const start = { order: ['gates'], versionLine: 'omitted' } as const;
  return runProgram(deps, { program, start }, async ({ values, log }) => {
    const read = readSettings(values);
    if (read.kind === 'refused') throw new ExitError(read.exitCode, read.message);
    return await runLivenessprobe({ clock: host.clock, log, host }, read.settings, lifecycle.signal);
  });
}
