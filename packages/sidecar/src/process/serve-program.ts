// SPDX-License-Identifier: Apache-2.0
/** The HTTP server of a program: metrics, profiles, and the routes that it is given. */
import type { HttpRoute, ScrapedMetrics } from '@csi-sidecars/runtime';
import { type DiagnosticsServer, profilingRoutes, serveDiagnostics } from '@csi-sidecars/runtime/internal';
import type { EndpointValues } from '../programs/shared-flags.ts';
import { orExit } from './exit.ts';
import type { ProcessHost } from './host.ts';
import type { Started } from './start.ts';

export interface EndpointOptions {
  /** The exit code if listening fails; default 1. */
  readonly httpExitCode?: number;
  /**
   * `own`: the page of metrics shows those that the work makes from the context's, and the start of the process. Default: also those of
   * the election, the log and the page itself.
   */
  readonly servedMetrics?: 'own';
}

export interface ServedProgram extends EndpointOptions {
  readonly address: string;
  readonly metrics: ScrapedMetrics;
  readonly isProfiled: boolean;
  readonly routes: readonly HttpRoute[];
}

export interface ServingDeps {
  readonly host: Pick<ProcessHost, 'clock' | 'argv0' | 'args' | 'startedAtMs'>;
  readonly started: Pick<Started<Pick<EndpointValues, 'metrics-path'>, never>, 'values' | 'log' | 'stderr'>;
}

export function serveProgram(
  { host, started: { values, log, stderr } }: ServingDeps,
  { address, metrics, isProfiled, routes, httpExitCode, servedMetrics }: ServedProgram,
): Promise<DiagnosticsServer> {
  const { clock, argv0, args, startedAtMs } = host;
  return orExit(
    'Failed to start HTTP server',
    () =>
      serveDiagnostics(
        { clock, logger: log, metrics, logWriter: stderr },
        {
          address,
          metricsPath: values['metrics-path'],
          startedAtMs,
          ...(servedMetrics === 'own' ? {} : { droppedLinesMetric: 'csi_sidecars_log_lines_dropped' }),
          routes: [...(isProfiled ? profilingRoutes({ clock, argv: [argv0, ...args] }) : []), ...routes],
        },
      ),
    httpExitCode,
  );
}
