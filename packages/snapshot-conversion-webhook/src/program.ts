// SPDX-License-Identifier: Apache-2.0
/** snapshot-conversion-webhook from its arguments to its exit code. It has nothing to clean up: a signal ends it. */
import { readPair, watchPair } from '@csi-sidecars/runtime/internal';
import { ExitError, exitCodes, orExit, type ProcessDeps, runProgram } from '@csi-sidecars/sidecar';
import { webhookProgram as program } from './flags.ts';
import { startServer } from './server.ts';

export function runWebhookProgram(deps: ProcessDeps): Promise<number> {
  const { host, lifecycle } = deps;
  const { signal } = lifecycle;
  const start = { order: ['gates'], versionLine: 'omitted' } as const;
  return runProgram(deps, { program, start }, async ({ values, log }) => {
    log.info(0, 'Starting conversion webhook server');
    const files = { certFile: values['tls-cert-file'], keyFile: values['tls-private-key-file'] };
    if (files.certFile === '') throw new ExitError(exitCodes.fatal, '--tls-cert-file must be specified');
    if (files.keyFile === '') throw new ExitError(exitCodes.fatal, '--tls-private-key-file must be specified');
    const pair = await orExit('failed to initialize new cert watcher', () => readPair(files), exitCodes.fatal);
    const { port } = values;
    await using server = await orExit(
      'server stopped',
      () => startServer({ log, clock: host.clock }, { port, pair }),
      exitCodes.fatal,
    );
    log.info(0, 'Listening', { port: server.port });
    const use = server.use.bind(server);
    await watchPair({ clock: host.clock, log }, { ...files, current: pair }, { use, signal });
    return exitCodes.success;
  });
}
