// SPDX-License-Identifier: Apache-2.0
/**
 * A program with controllers, from its first argument to its exit code:
 *
 *   flags, log, gates, version | API server | open | HTTP | prepare | lease | work
 *
 * What is the program's own comes in as `ControllerBody`. What was opened is closed, last opened first. Not here: the driver
 * (run-sidecar.ts), signals, crashes and the exit itself (the runtime's `runProcess`).
 */
import {
  type ApiClient,
  type Clock,
  type LeadingWork,
  type Logger,
  type Metrics,
  noMetrics,
  type Random,
} from '@csi-sidecars/runtime';
import {
  type DiagnosticsServer,
  leaderHealthRoute,
  type LeaderElector,
  type Lifecycle,
  profilingRoutes,
  serveDiagnostics,
} from '@csi-sidecars/runtime/internal';
import type { ProgramFlags } from '../programs/program.ts';
import type { EndpointValues, KubeApiValues } from '../programs/shared-flags.ts';
import { type ElectionValues, runUnderLease } from './election.ts';
import { ExitError, exitCodes, orExit } from './exit.ts';
import { runProgram } from './run-program.ts';
import type { StartOptions, StartValues, Started } from './start.ts';
import type { ScrapedMetrics, World } from './world.ts';

export interface ControllerValues
  extends Omit<StartValues, 'http-endpoint'>, ElectionValues, KubeApiValues, EndpointValues {
  readonly master?: string;
  readonly 'enable-pprof'?: boolean;
}
export type ControllerGate = 'ReleaseLeaderElectionOnExit';

export interface ProgramDeps {
  readonly world: World;
  readonly lifecycle: Lifecycle;
}

export interface ControllerContext<V, G extends string> {
  readonly started: Started<V, G>;
  readonly client: ApiClient;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly world: World;
  /** Aborts with an OrderlyStop when the program is asked to end. */
  readonly signal: AbortSignal;
  /** Ends the run with this code, whatever it is doing. */
  readonly cutShort: (code: number) => void;
}

export interface ControllerBody<V, G extends string, Opened> {
  readonly start?: StartOptions;
  /** Why this command line cannot be run, for the log; undefined when it can. Asked before anything is opened. */
  readonly refused?: (values: V) => string | undefined;
  /** Default: `--kubeconfig`. */
  readonly kubeconfig?: (values: V, env: World['env']) => string;
  /** When the configuration of the cluster cannot work; default 1. */
  readonly clientExitCode?: number;
  /** When listening fails; default 1. */
  readonly httpExitCode?: number;
  /** The program serves the `rest_client_*` metrics of its API client, as upstream's csi-resizer does. Default: it does not. */
  readonly requestMetrics?: true;
  /**
   * `own`: the page of metrics shows those that the work makes from the context's, and the start of the process. Default: also those of
   * the election, the log and the page itself.
   */
  readonly servedMetrics?: 'own';
  /** What must be there before the program answers HTTP: the driver, the CRDs. It is closed at the end of the stack. */
  readonly open: (context: ControllerContext<V, G>, opened: AsyncDisposableStack) => Promise<Opened>;
  /** Capabilities and controllers. Throws an ExitError when they will not do. */
  readonly prepare: (
    context: ControllerContext<V, G> & { readonly diagnostics: DiagnosticsServer | undefined },
    opened: Opened,
  ) => Promise<PreparedWork>;
}

export interface PreparedWork {
  /** Upstream's lock name, e.g. `external-attacher-leader-<driver>`. */
  readonly lockName: string;
  readonly run: LeadingWork;
}

/** Resolves with the exit code; everything that goes wrong is logged. */
export function runController<V extends ControllerValues, G extends string, Opened>(
  deps: ProgramDeps,
  program: ProgramFlags<V, G | ControllerGate>,
  body: ControllerBody<V, G | ControllerGate, Opened>,
): Promise<number> {
  return runProgram(deps, { program, start: body.start }, async (started) => {
    const cut = Promise.withResolvers<number>();
    const run = { ...deps, program, body, started, cutShort: cut.resolve };
    return await Promise.race([cut.promise, runStarted(run)]);
  });
}

interface Run<V extends ControllerValues, G extends string, Opened> extends ProgramDeps {
  readonly program: ProgramFlags<V, G>;
  readonly body: ControllerBody<V, G, Opened>;
  readonly started: Started<V, G>;
  readonly cutShort: (code: number) => void;
}

async function runStarted<V extends ControllerValues, G extends string, Opened>(
  run: Run<V, G | ControllerGate, Opened>,
): Promise<number> {
  const { world, lifecycle, program, body, started, cutShort } = run;
  const { values, log } = started;
  const { clock, random, env } = world;
  const { signal } = lifecycle;
  const refused = body.refused?.(values);
  if (refused !== undefined) throw new ExitError(exitCodes.failure, refused);
  await using stack = new AsyncDisposableStack();

  const address = values['metrics-address'] || values['http-endpoint'];
  const scraped = address === '' ? undefined : await world.openMetrics();
  const metrics: Metrics = scraped ?? noMetrics;
  const connect = (requestMetrics?: Metrics) =>
    world.connectApi({
      program: program.name,
      kubeconfig: body.kubeconfig?.(values, env) ?? values.kubeconfig,
      master: values.master ?? '',
      qps: values['kube-api-qps'],
      burst: values['kube-api-burst'],
      log,
      metrics: requestMetrics,
    });
  const api = await orExit(
    'Failed to create a Kubernetes client',
    () => connect(body.requestMetrics === true ? metrics : undefined),
    body.clientExitCode,
  );
  stack.defer(api.close);

  const context = { started, client: api.client, log, metrics, clock, random, world, signal, cutShort };
  const opened = await body.open(context, stack);

  const diagnostics = scraped && stack.use(await listen(run, scraped, address));
  let elector: LeaderElector | undefined;
  if (values['leader-election'] && values['http-endpoint'] !== '') {
    // Before there is an election: a liveness probe that finds nothing at its path ends a replica that has only begun.
    diagnostics?.add(leaderHealthRoute(() => elector?.isHealthy ?? true));
  }
  const work = await body.prepare({ ...context, diagnostics }, opened);

  const release = started.gates.ReleaseLeaderElectionOnExit;
  if (release) lifecycle.configure({ onSignal: 'drain' });
  return await runUnderLease(
    {
      ...context,
      metrics: body.servedMetrics === 'own' ? noMetrics : metrics,
      connect: () => connect(),
      onElector: (made) => {
        elector = made;
      },
    },
    { values, lockName: work.lockName, release: release ? 'onExit' : 'never', work: work.run },
    signal,
  );
}

function listen<V extends ControllerValues, G extends string, Opened>(
  { world, body, started }: Run<V, G, Opened>,
  metrics: ScrapedMetrics,
  address: string,
): Promise<DiagnosticsServer> {
  const { log, values, stderr } = started;
  const { clock, argv0, args, startedAtMs } = world;
  return orExit(
    'Failed to start HTTP server',
    () =>
      serveDiagnostics(
        { logger: log, metrics, logWriter: stderr },
        {
          address,
          metricsPath: values['metrics-path'],
          startedAtMs,
          ...(body.servedMetrics === 'own' ? {} : { droppedLinesMetric: 'csi_sidecars_log_lines_dropped' }),
          routes: values['enable-pprof'] === true ? profilingRoutes({ clock, argv: [argv0, ...args] }) : [],
        },
      ),
    body.httpExitCode ?? exitCodes.failure,
  );
}
