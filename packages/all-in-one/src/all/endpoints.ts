// SPDX-License-Identifier: Apache-2.0
/** The one HTTP server of the process: metrics, the health of the elections, profiles. */
import type { HttpRoute } from '@csi-sidecars/runtime';
import {
  type DiagnosticsServer,
  leaderHealthRoute,
  profilingRoutes,
  serveDiagnostics,
} from '@csi-sidecars/runtime/internal';
import { orExit, type ProgramHost, type ScrapedMetrics } from '@csi-sidecars/sidecar';
import type { Plan, StartedAll } from './plan.ts';
import type { States } from './states.ts';

interface Served {
  readonly host: ProgramHost;
  readonly started: StartedAll;
  readonly plan: Plan;
}

export interface Listening {
  readonly address: string;
  readonly metrics: ScrapedMetrics;
  readonly states: States;
}

export function listen(
  { host, started, plan }: Served,
  { address, metrics, states }: Listening,
): Promise<DiagnosticsServer> {
  const { values, log, stderr } = started;
  const { clock, argv0, args, startedAtMs } = host;
  const isProfiled = plan.sidecars.some(({ values: own }) => own['enable-pprof'] === true);
  return orExit('Failed to start HTTP server', () =>
    serveDiagnostics(
      { clock, logger: log, metrics, logWriter: stderr },
      {
        address,
        metricsPath: values['metrics-path'],
        startedAtMs,
        droppedLinesMetric: 'csi_sidecars_log_lines_dropped',
        routes: [
          ...(isProfiled ? profilingRoutes({ clock, argv: [argv0, ...args] }) : []),
          ...(values['leader-election'] && values['http-endpoint'] !== '' ? leaderRoutes(plan, states) : []),
        ],
      },
    ),
  );
}

/** They exist before the elections: a liveness probe that gets 404 would end a replica that has just started. */
function leaderRoutes({ sidecars }: Plan, states: States): readonly HttpRoute[] {
  const all = leaderHealthRoute(() => sidecars.every(({ name }) => states.isHealthy(name)));
  return [
    all,
    ...sidecars.map(({ name }) => ({
      ...leaderHealthRoute(() => states.isHealthy(name)),
      path: `${all.path}/${name}`,
    })),
  ];
}
