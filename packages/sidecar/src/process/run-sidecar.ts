// SPDX-License-Identifier: Apache-2.0
/**
 * A sidecar from its first argument to its exit code:
 *
 *   flags, log, gates, version | API server | driver: connect, probe, name | HTTP | prepare | lease | work
 *
 * What is the program's own comes in as `SidecarBody`: how it asks its driver, what it prepares before the election, and
 * the work. What was opened here is closed here, last opened first. Not here: signals, crashes and the exit itself, which are
 * the runtime's `runProcess`.
 */
import type {
  ApiClient,
  Clock,
  DiagnosticsServer,
  LeadingWork,
  Lifecycle,
  Logger,
  Metrics,
  Random,
} from '@csi-sidecars/runtime';
import { noMetrics, startDiagnosticsServer } from '@csi-sidecars/runtime';
import type { LineWriter } from '../logging/line-writer.ts';
import { registerProcessMetrics } from '../metrics/process-metrics.ts';
import type { ProgramFlags } from '../programs/program.ts';
import type { StandardValues } from '../programs/shared-flags.ts';
import { type Driver, type DriverOptions, connectDriver } from './driver.ts';
import { electionHealth, runUnderLease } from './election.ts';
import { ExitError, exitCodes, orExit } from './exit.ts';
import { type StartOptions, type StartValues, type Started, start } from './start.ts';
import type { ScrapedMetrics, World } from './world.ts';

export type SidecarValues = StandardValues & StartValues & { readonly master?: string };
export type SidecarGate = 'ReleaseLeaderElectionOnExit';

export interface SidecarContext<V, G extends string> extends Driver {
  readonly started: Started<V, G>;
  readonly client: ApiClient;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly env: World['env'];
  /** Undefined without an HTTP address. Routes may be added. */
  readonly diagnostics: DiagnosticsServer | undefined;
}

export interface SidecarBody<V, G extends string> {
  readonly start?: StartOptions;
  /** Finds mistakes before anything is opened; throws an ExitError. */
  readonly check?: (started: Started<V, G>, env: World['env']) => void;
  readonly driver: (values: V) => Omit<DriverOptions, 'address'>;
  /** When listening fails; default 1. */
  readonly httpExitCode?: number;
  /** Capabilities and controllers. Throws an ExitError when the driver will not do. */
  readonly prepare: (context: SidecarContext<V, G>, signal: AbortSignal) => Promise<SidecarWork>;
}

export interface SidecarWork {
  /** Upstream's lock name, e.g. `external-attacher-leader-<driver>`. */
  readonly lockName: string;
  readonly run: LeadingWork;
}

export interface SidecarDeps {
  readonly world: World;
  readonly lifecycle: Lifecycle;
}

/** Resolves with the exit code; everything that goes wrong is logged. */
export async function runSidecar<V extends SidecarValues, G extends string>(
  { world, lifecycle }: SidecarDeps,
  program: ProgramFlags<V, G | SidecarGate>,
  body: SidecarBody<V, G | SidecarGate>,
): Promise<number> {
  const started = await start(world, program, body.start);
  const { stderr } = started;
  if (started.kind === 'ended') {
    await stderr.flush();
    return started.code;
  }
  const { log } = started;
  lifecycle.configure({ logger: log, flushLogs: stderr.flush });
  const cut = Promise.withResolvers<number>();
  const run = { world, lifecycle, program, body, started, cutShort: cut.resolve };
  try {
    return await Promise.race([cut.promise, runStarted(run)]);
  } catch (error) {
    if (!(error instanceof ExitError)) throw error;
    log.error(error.cause, error.message);
    return error.code;
  }
}

interface Run<V extends SidecarValues, G extends string> extends SidecarDeps {
  readonly program: ProgramFlags<V, G>;
  readonly body: SidecarBody<V, G>;
  readonly started: Started<V, G>;
  /** Ends the run with this code, whatever it is doing. */
  readonly cutShort: (code: number) => void;
}

async function runStarted<V extends SidecarValues, G extends string>(run: Run<V, G | SidecarGate>): Promise<number> {
  const { world, lifecycle, program, body, started } = run;
  const { values, log } = started;
  const { clock, random, env } = world;
  const { signal } = lifecycle;
  body.check?.(started, env);
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
  const scraped = address === '' ? undefined : await world.openMetrics();
  const metrics: Metrics = scraped ?? noMetrics;
  const driver = await connectDriver(
    { clock, log, metrics, world, cutShort: run.cutShort },
    { ...body.driver(values), address: values['csi-address'] },
    signal,
  );
  opened.defer(() => driver.channel.close());

  const diagnostics = scraped && opened.use(await serveDiagnostics(run, scraped, address));
  const context = { ...driver, started, client: api.client, log, metrics, clock, random, env, diagnostics };
  const work = await body.prepare(context, signal);

  const release = started.gates.ReleaseLeaderElectionOnExit;
  if (release) lifecycle.configure({ onSignal: 'drain' });
  const onElector: Parameters<typeof runUnderLease>[0]['onElector'] = (elector) => {
    if (values['http-endpoint'] === '') return;
    const handler = () => electionHealth(elector);
    diagnostics?.add({ path: '/healthz/leader-election', methods: 'any', handler });
  };
  return await runUnderLease(
    { clock, random, log, metrics, world, connect, onElector },
    { values, lockName: work.lockName, release: release ? 'onExit' : 'never', work: work.run },
    signal,
  );
}

async function serveDiagnostics<V extends SidecarValues, G extends string>(
  { world, body, started }: Run<V, G>,
  metrics: ScrapedMetrics,
  address: string,
): Promise<DiagnosticsServer> {
  const { log, values, stderr } = started;
  registerProcessMetrics(metrics, world.startedAtMs);
  registerLogMetrics(metrics, stderr);
  const headers = {
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    'process-start-time-unix': String(Math.floor(world.startedAtMs / 1000)),
  };
  const handler = async () => ({ status: 200, headers, body: await metrics.text() });
  const routes = [{ path: values['metrics-path'], handler }];
  const server = await orExit(
    'Failed to start HTTP server',
    () => startDiagnosticsServer({ address, routes, logger: log }),
    body.httpExitCode ?? exitCodes.failure,
  );
  log.info(0, 'ServeMux listening', { address });
  return server;
}

function registerLogMetrics(metrics: Metrics, stderr: LineWriter): void {
  metrics.gauge({
    name: 'csi_sidecars_log_lines_dropped',
    help: 'Log lines that were dropped because their reader was too slow.',
    collect: () => [{ labels: {}, value: stderr.dropped }],
  });
}
