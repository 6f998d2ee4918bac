// SPDX-License-Identifier: Apache-2.0
/** csi-node-driver-registrar from its arguments to its exit code. */
import { ExitError, type ProcessDeps, exitCodes, runProgram } from '@csi-sidecars/sidecar';
import { nodeDriverRegistrarProgram as program } from './flags.ts';
import { messages } from './messages.ts';
import { runRegistrar } from './registrar.ts';
import { readSettings } from './settings.ts';
import type { SocketFiles } from './socket-files.ts';
import type { Platform } from './stale-socket.ts';

export interface RegistrarProgramDeps extends ProcessDeps {
  readonly files: SocketFiles;
  readonly platform: Platform;
}

export function runRegistrarProgram(deps: RegistrarProgramDeps): Promise<number> {
  const { host, lifecycle, files, platform } = deps;
  const start = { order: ['gates', 'version'], versionLine: 'omitted' } as const;
  return runProgram(deps, { program, start }, async ({ values, log }) => {
    const read = readSettings(values);
    if (read.kind === 'refused') throw new ExitError(exitCodes.failure, read.message);
    if (read.kind === 'probe') return exitCodes.success;
    log.info(0, 'Version', { version: host.version });
    log.info(0, 'Running node-driver-registrar', { mode: values.mode });
    if (values['connection-timeout'] !== 0) log.info(0, messages.connectionTimeoutIgnored);
    return await runRegistrar(
      {
        clock: host.clock,
        log,
        files,
        platform,
        argv: [host.argv0, ...host.args],
        // Until then a signal ends the process at once: there is nothing to remove.
        onPublishing: () => lifecycle.configure({ onSignal: 'drain' }),
      },
      read.settings,
      lifecycle.signal,
    );
  });
}
