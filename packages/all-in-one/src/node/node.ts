// SPDX-License-Identifier: Apache-2.0
/**
 * `csi-sidecars node`: registrar and livenessprobe in one process. Each has its own listener, and neither ends the other. A command
 * line that one of them would refuse is refused for both, before anything runs.
 */
import { readSettings as readLivenessprobe, runLivenessprobe } from '@csi-sidecars/livenessprobe';
import {
  type Platform,
  type SocketFiles,
  readSettings as readRegistrar,
  runRegistrar,
} from '@csi-sidecars/node-driver-registrar';
import { ExitError, type ProcessDeps, exitCodes, runProgram } from '@csi-sidecars/sidecar';
import { supervise } from '../supervise.ts';
import { livenessprobeValues, nodeProgram, registrarValues } from './flags.ts';

export interface NodeDeps extends ProcessDeps {
  readonly files: SocketFiles;
  readonly platform: Platform;
}

/** Resolves with the exit code. */
export function runNode(deps: NodeDeps): Promise<number> {
  const { host, lifecycle, files, platform } = deps;
  const start = { versionLine: 'omitted' } as const;
  return runProgram(deps, { program: nodeProgram, start }, async ({ values, log }) => {
    const { clock } = host;
    const { signal } = lifecycle;
    const registrar = readRegistrar(registrarValues(values));
    if (registrar.kind === 'refused') throw new ExitError(exitCodes.failure, registrar.message);
    if (registrar.kind === 'probe') return exitCodes.success;
    const livenessprobe = readLivenessprobe(livenessprobeValues(values));
    if (livenessprobe.kind === 'refused') throw new ExitError(livenessprobe.exitCode, livenessprobe.message);

    log.info(0, 'Version', { version: host.version });
    const argv = [host.argv0, ...host.args];
    const onPublishing = (): void => lifecycle.configure({ onSignal: 'drain' });
    const codes = await Promise.all([
      supervise(
        { clock, log },
        {
          name: 'registrar',
          run: (own, stop) =>
            runRegistrar({ clock, log: own, files, platform, argv, onPublishing }, registrar.settings, stop),
        },
        signal,
      ),
      supervise(
        { clock, log },
        {
          name: 'livenessprobe',
          run: (own, stop) => runLivenessprobe({ clock, log: own, host }, livenessprobe.settings, stop),
        },
        signal,
      ),
    ]);
    return Math.max(...codes);
  });
}
