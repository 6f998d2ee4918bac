// SPDX-License-Identifier: Apache-2.0
/** csi-node-driver-registrar: the process around the registrar. */
import { ExitError, exitCodes, runProgram, runSmall } from '@csi-sidecars/sidecar';
import { nodeDriverRegistrarProgram as program } from './flags.ts';
import { messages } from './messages.ts';
import { runRegistrar } from './registrar.ts';
import { readSettings } from './settings.ts';
import { systemSocketFiles } from './socket-files.ts';

/** An exec probe of many manifests, from the days when a file told of the registration. */
const probeMode = 'kubelet-registration-probe';

void runSmall(program.name, (deps) =>
  runProgram(
    deps,
    { program, start: { order: ['gates', 'version'], versionLine: 'omitted' } },
    async ({ values, log }) => {
      const { world, lifecycle } = deps;
      if (values['kubelet-registration-path'] === '') throw new ExitError(exitCodes.failure, messages.pathRequired);
      if (values.mode === probeMode) return 0;
      log.info(0, 'Version', { version: world.version });
      log.info(0, 'Running node-driver-registrar', { mode: values.mode });
      const read = readSettings(values);
      if (read.kind === 'refused') throw new ExitError(exitCodes.failure, read.message);
      if (values['connection-timeout'] !== 0) log.info(0, messages.connectionTimeoutIgnored);
      return await runRegistrar(
        {
          clock: world.clock,
          log,
          files: systemSocketFiles(),
          platform: process.platform === 'win32' ? 'windows' : 'unix',
          argv: [world.argv0, ...world.args],
          onPublishing: () => lifecycle.configure({ onSignal: 'drain' }),
        },
        read.settings,
        lifecycle.signal,
      );
    },
  ),
);
