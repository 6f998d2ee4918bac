// SPDX-License-Identifier: Apache-2.0
/**
 * A sidecar from its first argument to its exit code:
 *
 *   flags, log, gates, version | API server | driver: connect, probe, name | HTTP | prepare | lease | work
 *
 * What is the program's own comes in as `SidecarBody`: how it asks its driver, what it prepares before the election, and
 * the work. Everything opened here is closed here, last opened first.
 */
import type { ApiClient, Clock, Logger, Metrics, LeadingWork, Random } from '@csi-sidecars/runtime';
import { noMetrics } from '@csi-sidecars/runtime';
import { registerProcessMetrics } from '../metrics/process-metrics.ts';
import type { ProgramFlags } from '../programs/program.ts';
import type { StandardValues } from '../programs/shared-flags.ts';
import { type Driver, type DriverOptions, connectDriver } from './driver.ts';
import { electionHealth, runUnderLease } from './election.ts';
import { type Ending, createEnding } from './ending.ts';
import { ExitError, exitCodes, orExit } from './exit.ts';
import { type BasicValues, type StartOptions, type Started, start } from './start.ts';
import type { Answer, HttpServer, ScrapedMetrics, World } from './world.ts';

export type SidecarValues = StandardValues & BasicValues & { readonly master?: string };
type Gates = 'ReleaseLeaderElectionOnExit';

export interface SidecarContext<V, G extends string> extends Driver {
  readonly values: V;
  readonly given: ReadonlySet<string>;
  readonly gates: Readonly<Record<G, boolean>>;
  readonly givenGates: ReadonlySet<string>;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly client: ApiClient;
  readonly world: World;
  /** Ends the process at once, with the text as the reason. */
  readonly fail: (error: unknown, message: string) => void;
}

export interface SidecarBody<V, G extends string> {
  readonly start?: StartOptions;
  /** Mistakes that are found before anything is opened; rejects or throws an ExitError. */
  readonly check?: (started: Started<V, G>, world: World) => void;
  readonly driver: (values: V) => Omit<DriverOptions, 'address'>;
  /** Capabilities and controllers. Throws an ExitError when the driver will not do. */
  readonly prepare: (context: SidecarContext<V, G>, signal: AbortSignal) => Promise<SidecarWork>;
  /** When listening fails; default 1. */
  readonly httpExitCode?: number;
}

export interface SidecarWork {
  /** Upstream's lock name, e.g. `external-attacher-leader-<driver>`. */
  readonly lockName: string;
  readonly run: LeadingWork;
}

export async function runSidecar<V extends SidecarValues, G extends string>(
  world: World,
  program: ProgramFlags<V, G | Gates>,
  body: SidecarBody<V, G | Gates>,
): Promise<number> {
  const started = await start(world, program, body.start);
  const { stderr } = started;
  try {
    if (started.kind === 'ended') return started.code;
    const { log } = started;
    using ending = createEnding({ clock: world.clock, log, world });
    const run = { world, program, body, started, ending };
    return await Promise.race([ending.forced, runStarted(run).catch((error: unknown) => explain(error, log))]);
  } finally {
    stderr.flushSync();
  }
}

function explain(error: unknown, log: Logger): number {
  if (error instanceof ExitError) {
    log.error(error.cause, error.message);
    return error.code;
  }
  log.error(error, 'Unhandled error', { stack: error instanceof Error ? error.stack : undefined });
  return exitCodes.defect;
}

interface Run<V extends SidecarValues, G extends string> {
  readonly world: World;
  readonly program: ProgramFlags<V, G>;
  readonly body: SidecarBody<V, G>;
  readonly started: Started<V, G>;
  readonly ending: Ending;
}

async function runStarted<V extends SidecarValues, G extends string>(run: Run<V, G>): Promise<number> {
  const { world, program, body, started, ending } = run;
  const { values, log } = started;
  body.check?.(started, world);
  await using opened = new AsyncDisposableStack();

  const connect = () =>
    world.connectApi({
      program: program.name,
      kubeconfig: values.kubeconfig,
      master: values.master ?? '',
      qps: values['kube-api-qps'],
      burst: values['kube-api-burst'],
      log,
    });
  const api = opened.adopt(await orExit('Failed to create a Kubernetes client', connect), ({ close }) => close());

  const address = values['metrics-address'] === '' ? values['http-endpoint'] : values['metrics-address'];
  const metrics = address === '' ? undefined : await world.openMetrics();
  const driver = await connectDriver(
    { clock: world.clock, log, metrics: metrics ?? noMetrics, world, force: ending.force },
    { ...body.driver(values), address: values['csi-address'] },
    ending.stopping,
  );
  opened.defer(() => driver.channel.close());

  const routes = new Map<string, () => Answer | Promise<Answer>>();
  if (metrics !== undefined) {
    const served = { run, metrics, routes, address };
    opened.adopt(await serveDiagnostics(served), ({ close }) => close());
  }

  const fail = (error: unknown, message: string): void => {
    log.error(error, message);
    ending.force(exitCodes.failure);
  };
  const { client } = api;
  const { clock, random } = world;
  const { given, gates, givenGates } = started;
  const context = { ...driver, values, given, gates, givenGates, log, metrics: metrics ?? noMetrics, clock, random };
  const work = await body.prepare({ ...context, client, world, fail }, ending.stopping);

  const release = (gates as Readonly<Record<string, boolean>>)['ReleaseLeaderElectionOnExit'] === true;
  if (release) ending.drainOnSignal();
  return await runUnderLease(
    {
      clock,
      random,
      log,
      metrics: metrics ?? noMetrics,
      world,
      connect,
      onElector: (elector) => {
        if (values['http-endpoint'] !== '') routes.set('/healthz/leader-election', () => electionHealth(elector));
      },
    },
    { values, lockName: work.lockName, release: release ? 'onExit' : 'never', work: work.run },
    ending.stopping,
  );
}

interface Served<V extends SidecarValues, G extends string> {
  readonly run: Run<V, G>;
  readonly metrics: ScrapedMetrics;
  readonly routes: Map<string, () => Answer | Promise<Answer>>;
  readonly address: string;
}

async function serveDiagnostics<V extends SidecarValues, G extends string>(served: Served<V, G>): Promise<HttpServer> {
  const { run, metrics, routes, address } = served;
  const { log, values } = run.started;
  registerProcessMetrics(metrics, run.world.startedAtMs);
  metrics.gauge({
    name: 'csi_sidecars_log_lines_dropped',
    help: 'Log lines that were dropped because their reader was too slow.',
    collect: () => [{ labels: {}, value: run.started.stderr.dropped }],
  });
  routes.set(values['metrics-path'], async () => ({
    status: 200,
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    body: await metrics.text(),
  }));
  const code = run.body.httpExitCode ?? exitCodes.failure;
  const onFailure = (error: unknown): void => {
    log.error(error, 'Failed to serve HTTP', { address });
    run.ending.force(code);
  };
  const server = await orExit(
    `Failed to listen on ${address}`,
    () => run.world.serve({ address, routes, log, onFailure }),
    code,
  );
  log.info(0, 'ServeMux listening', { address });
  return server;
}
