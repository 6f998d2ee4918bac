// SPDX-License-Identifier: Apache-2.0
/** The one HTTP server of the process: metrics, the health of the elections, profiles. */
import type { HttpRoute } from '@csi-sidecars/runtime';
import { type DiagnosticsServer, leaderHealthRoute } from '@csi-sidecars/runtime/internal';
import { type ProgramHost, type ScrapedMetrics, serveProgram } from '@csi-sidecars/sidecar';
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
  /** Beside those of metrics, health and profiles. Default: none. */
  readonly routes?: readonly HttpRoute[];
}

export function listen(
  { plan, ...served }: Served,
  { states, routes = [], ...listening }: Listening,
): Promise<DiagnosticsServer> {
  const { values } = served.started;
  return serveProgram(served, {
    ...listening,
    isProfiled: plan.sidecars.some(({ values: own }) => own['enable-pprof'] === true),
    routes: [
      ...(values['leader-election'] && values['http-endpoint'] !== '' ? leaderRoutes(plan, states) : []),
      ...routes,
    ],
  });
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
