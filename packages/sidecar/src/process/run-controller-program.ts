// SPDX-License-Identifier: Apache-2.0
/**
 * A program with controllers, from its first argument to its exit code:
 *
 *   flags, log, gates, version | API server | open | HTTP | prepare | lease | work
 *
 * The program's own part is a `ControllerBody`. The parts are closed in reverse order. Not here: the driver (run-sidecar.ts),
 * signals, crashes and the exit itself (the runtime's `runProcess`).
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
  type RateLimit,
  serveDiagnostics,
} from '@csi-sidecars/runtime/internal';
import type { ProgramFlags } from '../programs/program.ts';
import type { EndpointValues, KubeApiValues } from '../programs/shared-flags.ts';
import { type ElectionValues, runUnderLease } from './election.ts';
import { ExitError, exitCodes, orExit } from './exit.ts';
import { runProgram } from './run-program.ts';
import type { StartOptions, StartValues, Started } from './start.ts';
import type { ScrapedMetrics, ProgramHost } from './host.ts';

export interface ControllerValues
  extends Omit<StartValues, 'http-endpoint'>, ElectionValues, KubeApiValues, EndpointValues {
  readonly master?: string;
  readonly 'enable-pprof'?: boolean;
}
export type ControllerGate = 'ReleaseLeaderElectionOnExit';

export interface ProgramDeps {
  readonly host: ProgramHost;
  readonly lifecycle: Lifecycle;
}

export interface ControllerContext<V, G extends string> {
  readonly started: Started<V, G>;
  readonly client: ApiClient;
  /** Another client over the same connection, with a rate limit of its own. */
  readonly withLimit: (limit: RateLimit) => ApiClient;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly host: ProgramHost;
  /** Aborts with an OrderlyStop when the program is asked to end. */
  readonly signal: AbortSignal;
  /** Ends the run with this code, whatever is still running. */
  readonly cutShort: (code: number) => void;
}

export interface ControllerBody<V, G extends string, Opened> {
  readonly start?: StartOptions;
  /** The reason why this command line cannot be run, for the log; undefined if it can. Called before anything is opened. */
  readonly refused?: (values: V) => string | undefined;
  /** Default: `--kubeconfig`. */
  readonly kubeconfig?: (values: V, env: ProgramHost['env']) => string;
  /** The exit code if the configuration of the cluster cannot work; default 1. */
  readonly clientExitCode?: number;
  /** The exit code if listening fails; default 1. */
  readonly httpExitCode?: number;
  /** The program serves the `rest_client_*` metrics of its API client, as upstream's csi-resizer does. Default: it does not. */
  readonly requestMetrics?: true;
  /**
   * `own`: the page of metrics shows those that the work makes from the context's, and the start of the process. Default: also those of
   * the election, the log and the page itself.
   */
  readonly servedMetrics?: 'own';
  /** Opens what the program needs before it answers HTTP: the driver, the CRDs. The stack closes it. */
  readonly open: (context: ControllerContext<V, G>, opened: AsyncDisposableStack) => Promise<Opened>;
  /** Checks the capabilities and creates the controllers. Throws an ExitError if the program cannot work with them. */
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

/** Resolves with the exit code. Errors are logged. */
export function runControllerProgram<V extends ControllerValues, G extends string, Opened>(
  deps: ProgramDeps,
  program: ProgramFlags<V, G | ControllerGate>,
  body: ControllerBody<V, G | ControllerGate, Opened>,
): Promise<number> {
  return runProgram(deps, { program, start: body.start }, (started) => {
    const cut = Promise.withResolvers<number>();
    const run = { ...deps, program, body, started, cutShort: cut.resolve };
    return Promise.race([cut.promise, runStarted(run)]);
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
  const { host, lifecycle, program, body, started, cutShort } = run;
  const { values, log } = started;
  const { clock, random, env } = host;
  const { signal } = lifecycle;
  const refused = body.refused?.(values);
  if (refused !== undefined) throw new ExitError(exitCodes.failure, refused);
  await using stack = new AsyncDisposableStack();

  const address = values['metrics-address'] || values['http-endpoint'];
  const scraped = address === '' ? undefined : await host.openMetrics();
  const metrics: Metrics = scraped ?? noMetrics;
  const connect = (requestMetrics?: Metrics) =>
    host.connectApi({
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

  const { client } = api;
  const withLimit = (limit: RateLimit): ApiClient =>
    api.clientWith({ ...limit, logger: log, counted: body.requestMetrics === true });
  const context = { started, client, withLimit, log, metrics, clock, random, host, signal, cutShort };
  const opened = await body.open(context, stack);

  const diagnostics = scraped && stack.use(await listen(run, scraped, address));
  let elector: LeaderElector | undefined;
  if (values['leader-election'] && values['http-endpoint'] !== '') {
    // The route exists before the election: a liveness probe that gets 404 would end a replica that has just started.
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
  { host, body, started }: Run<V, G, Opened>,
  metrics: ScrapedMetrics,
  address: string,
): Promise<DiagnosticsServer> {
  const { log, values, stderr } = started;
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
          ...(body.servedMetrics === 'own' ? {} : { droppedLinesMetric: 'csi_sidecars_log_lines_dropped' }),
          routes: values['enable-pprof'] === true ? profilingRoutes({ clock, argv: [argv0, ...args] }) : [],
        },
      ),
    body.httpExitCode,
  );
}
