// SPDX-License-Identifier: Apache-2.0
/** What lives as long as the process: metrics, states, the connection to the API server, the HTTP server. */
import type { Platform, SocketFiles } from '@csi-sidecars/node-driver-registrar';
import { type Metrics, noMetrics } from '@csi-sidecars/runtime';
import type { ApiConnection, DiagnosticsServer } from '@csi-sidecars/runtime/internal';
import {
  type Inspections,
  openInspections,
  openTracing,
  orExit,
  type ProgramDeps,
  type Tracing,
} from '@csi-sidecars/sidecar';
import { listen } from './endpoints.ts';
import type { Plan, StartedAll } from './plan.ts';
import { allProgram } from './program.ts';
import { programNameOf } from './programs.ts';
import type { Sidecars } from './sidecars.ts';
import { createStates, type States } from './states.ts';

export interface AllDeps extends ProgramDeps {
  readonly files: SocketFiles;
  readonly platform: Platform;
  /** Default: those of this repository. */
  readonly sidecars?: Sidecars;
}

export interface Run extends Omit<AllDeps, 'lifecycle'> {
  readonly started: StartedAll;
  readonly plan: Plan;
  readonly stack: AsyncDisposableStack;
  /** Aborts with an OrderlyStop. */
  readonly signal: AbortSignal;
}

export interface Shared {
  readonly metrics: Metrics;
  readonly states: States;
  /** Undefined without a controller that talks to the API server. */
  readonly api: ApiConnection | undefined;
  readonly http: DiagnosticsServer | undefined;
  readonly inspections: Inspections;
  /** Undefined: nothing is traced. */
  readonly tracing: Tracing | undefined;
}

export async function openProcess(run: Run): Promise<Shared> {
  const { host, started, plan, stack } = run;
  const { values, log } = started;
  // Refused environments, before anything is opened.
  for (const { sidecar, values: own } of plan.sidecars) sidecar.driver(own, host.env);
  const address = values['metrics-address'] || values['http-endpoint'];
  const scraped = address === '' ? undefined : await host.openMetrics();
  const metrics = scraped ?? noMetrics;
  const { name: program } = allProgram;
  const tracing = await openTracing(host, { program, values, log, metrics });
  const sidecars = plan.sidecars.map(({ name }) => programNameOf(name));
  const inspections = openInspections(host, values, sidecars);
  const states = createStates(plan.controllers, metrics);
  const api = plan.sidecars.length === 0 ? undefined : await connect(run, metrics);
  if (api !== undefined) stack.defer(api.close);
  stack.defer(async () => tracing?.close());
  const http =
    scraped && stack.use(await listen(run, { address, metrics: scraped, states, routes: inspections.routes }));
  log.info(0, 'Controllers', { controllers: plan.controllers });
  return { metrics, states, api, http, inspections, tracing };
}

/** The first client of the connection is for the watches, which no limit of a controller slows down. */
function connect({ host, started, plan }: Run, metrics: Metrics): Promise<ApiConnection> {
  const { kubeconfig, master } = started.values;
  const isCounted = plan.sidecars.some(({ sidecar }) => sidecar.requestMetrics);
  return orExit('Failed to create a Kubernetes client', () =>
    host.connectApi({
      program: allProgram.name,
      kubeconfig,
      master,
      qps: -1,
      burst: 1,
      log: started.log,
      metrics: isCounted ? metrics : undefined,
    }),
  );
}
