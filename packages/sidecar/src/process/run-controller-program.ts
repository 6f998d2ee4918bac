// SPDX-License-Identifier: Apache-2.0
/**
 * A program with controllers, from its first argument to its exit code: flags, log, gates, version (start.ts), then the parts of the
 * runtime's `runAssembly`, in its order, made from flags and with upstream's exit codes. The program's own part is a `ControllerBody`.
 * Not here: the driver (sidecar-program.ts), signals, crashes and the exit itself (the runtime's `runProcess`).
 */
import type { AuditBoard, DriverInfo } from '@csi-sidecars/csi';
import { type ApiClient, type Clock, type Logger, type Metrics, noMetrics, type Random } from '@csi-sidecars/runtime';
import {
  type Assembly,
  type DiagnosticsServer,
  leaderHealthRoute,
  type Lifecycle,
  type PreparedAssembly,
  type RateLimit,
  runAssembly,
  type WorkBeside,
} from '@csi-sidecars/runtime/internal';
import type { ProgramFlags } from '../programs/manifest.ts';
import type {
  DebugExplainValues,
  EndpointValues,
  EventsValues,
  KubeApiValues,
  RightsValues,
  TracingValues,
} from '../programs/shared-flags.ts';
import { openRights, type Rights } from '../rights/rights.ts';
import type { NeededRights } from '../rights/wanted.ts';
import { openTracing } from '../tracing/open.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { debugExplainRefused, describeController, openInspections } from './debug-explain.ts';
import { type ElectionValues, leaseOf, orRefusedElection } from './election.ts';
import { ExitError, exitCodes, orExit } from './exit.ts';
import { runProgram } from './run-program.ts';
import { type EndpointOptions, serveProgram } from './serve-program.ts';
import type { SharedRelease } from './shared-release.ts';
import type { StartOptions, StartValues, Started } from './start.ts';
import type { ApiConnection, ProgramHost } from './host.ts';
import { eventsRefused, writtenEventsOf } from './written-events.ts';

export interface ControllerValues
  extends
    Omit<StartValues, 'http-endpoint'>,
    ElectionValues,
    KubeApiValues,
    RightsValues,
    EndpointValues,
    DebugExplainValues,
    Partial<EventsValues>,
    TracingValues {
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
  /** Undefined: no audit can be asked for. */
  readonly auditBoard?: AuditBoard | undefined;
  /** Undefined: no other controller of the process has to do with the same finalizers. */
  readonly sharedRelease?: SharedRelease | undefined;
  /** Undefined: nothing is traced. */
  readonly tracing?: Tracing | undefined;
  /** Aborts with an OrderlyStop when the program is asked to end. */
  readonly signal: AbortSignal;
  /** Ends the run with this code, whatever is still running. */
  readonly cutShort: (code: number) => void;
}

export interface ControllerBody<V, G extends string, Opened> extends EndpointOptions {
  readonly start?: StartOptions;
  /** The reason why this command line cannot be run, for the log; undefined if it can. Called before anything is opened. */
  readonly refused?: (values: V) => string | undefined;
  /** Default: `--kubeconfig`. */
  readonly kubeconfig?: (values: V, env: ProgramHost['env']) => string;
  /** The exit code if the configuration of the cluster cannot work; default 1. */
  readonly clientExitCode?: number;
  /** The program serves the `rest_client_*` metrics of its API client, as upstream's csi-resizer does. Default: it does not. */
  readonly requestMetrics?: true;
  /** The names of the controllers that this command line runs beside the program's own. Default: none. */
  readonly beside?: (values: V) => readonly string[];
  /** Opens what the program needs before it answers HTTP: the driver, the CRDs. The stack closes it. */
  readonly open: (context: ControllerContext<V, G>, opened: AsyncDisposableStack) => Promise<Opened>;
  /** Checks the capabilities and creates the controllers. Throws an ExitError if the program cannot work with them. */
  readonly prepare: (
    context: ControllerContext<V, G> & { readonly diagnostics: DiagnosticsServer | undefined },
    opened: Opened,
  ) => Promise<PreparedController>;
}

export interface PreparedController extends Pick<PreparedAssembly, 'assemble' | 'before'> {
  /** Upstream's lock name, e.g. `external-attacher-leader-<driver>`. */
  readonly lockName: string;
  /** What its account has to be permitted, beside the rights of the election. Default: nothing. */
  readonly rights?: NeededRights;
  /** The driver that it works with. Default: none. */
  readonly driver?: DriverInfo;
  /** Aborts when the connection to the driver is lost. */
  readonly driverLost?: AbortSignal;
  /** Those that `beside` has named. Their rights are among those above. Default: none. */
  readonly beside?: readonly ControllerBeside[];
}

/** A controller with a lease of its own, in the process of another one. The loss of either lease ends the process. */
export interface ControllerBeside extends Pick<WorkBeside, 'name' | 'client' | 'assemble'> {
  readonly lockName: string;
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
  const { clock, random } = host;
  const { signal } = lifecycle;
  const refused = body.refused?.(values) ?? debugExplainRefused(values) ?? eventsRefused(values);
  if (refused !== undefined) throw new ExitError(exitCodes.failure, refused);
  const address = values['metrics-address'] || values['http-endpoint'];
  const scraped = address === '' ? undefined : await host.openMetrics();
  const metrics: Metrics = scraped ?? noMetrics;
  const reported = body.servedMetrics === 'own' ? noMetrics : metrics;
  const tracing = await openTracing(host, { program: program.name, values, log, metrics: reported });
  const isElecting = values['leader-election'];
  const releases = started.gates.ReleaseLeaderElectionOnExit;
  const inspections = openInspections(host, values, [program.name, ...(body.beside?.(values) ?? [])]);
  using rights = rightsOf(run, metrics);

  interface OpenProgram extends AsyncDisposable {
    readonly context: ControllerContext<V, G | ControllerGate>;
    readonly opened: Opened;
  }
  const assembly: Assembly<OpenProgram> = {
    connect: connections(run, metrics, rights),
    open: async ({ client, clientWith }) => {
      await using stack = new AsyncDisposableStack();
      const withLimit = (limit: RateLimit): ApiClient =>
        clientWith({ ...limit, logger: log, counted: body.requestMetrics === true });
      const auditBoard = inspections.auditOf(program.name);
      const ports = { clock, random, host, tracing, auditBoard };
      const context = { ...ports, started, client, withLimit, log, metrics, signal, cutShort };
      const opened = await body.open(context, stack);
      const parts = stack.move();
      return { context, opened, [Symbol.asyncDispose]: () => parts.disposeAsync() };
    },
    serve: async (isHealthy) => {
      if (scraped === undefined) return undefined;
      // The route exists before the election: a liveness probe that gets 404 would end a replica that has just started.
      const health = isElecting && values['http-endpoint'] !== '' ? [leaderHealthRoute(isHealthy)] : [];
      const routes = [...health, ...inspections.routes];
      const isProfiled = values['enable-pprof'] === true;
      return await serveProgram(run, { ...body, address, metrics: scraped, isProfiled, routes });
    },
    prepare: async ({ context, opened }, diagnostics) => {
      const prepared = await body.prepare({ ...context, diagnostics }, opened);
      const { lockName, assemble, before, driver, driverLost, beside = [] } = prepared;
      const isConnected = (): boolean => driverLost?.aborted !== true;
      const { flags } = program;
      for (const { name } of [program, ...beside])
        describeController(inspections.of(name), { flags, values, driver, isConnected, rights });
      const lockNames = [lockName, ...beside.map((each) => each.lockName)];
      rights.begin(context.withLimit, { values, lockNames, rights: prepared.rights ?? { cluster: [] } });
      if (releases) lifecycle.configure({ onSignal: 'drain' });
      const release = releases ? 'onExit' : 'never';
      return {
        lease: leaseOf(host, { values, lockName, release }),
        before,
        assemble,
        beside: beside.map(({ lockName: lock, ...each }) => ({
          ...each,
          lease: leaseOf(host, { values, lockName: lock, release }),
          inspection: inspections.of(each.name),
          tracer: tracing?.tracerOf(each.name),
        })),
      };
    },
  };
  const deps = {
    ...host,
    logger: rights.marked(log),
    metrics: reported,
    tracer: tracing?.tracerOf(program.name),
    inspection: inspections.of(program.name),
    writtenEvents: writtenEventsOf(values),
  };
  // The lease is released by then.
  await using _ = { [Symbol.asyncDispose]: async () => tracing?.close() };
  const result = await orRefusedElection(() => runAssembly(deps, assembly, signal));
  // Upstream ends with 1 whatever the reason. A program that was asked to end, and gave its lease up, has not failed.
  const isInOrder = !isElecting || (releases && signal.aborted && result !== 'lost');
  return isInOrder ? exitCodes.success : exitCodes.failure;
}

function rightsOf<V extends ControllerValues, G extends string, Opened>(
  { host, lifecycle: { signal }, program, started: { values, log } }: Run<V, G, Opened>,
  metrics: Metrics,
): Rights {
  const controller = program.name.replace(/^csi-/, '');
  const check = values['check-rights'] ? 'on' : 'off';
  return openRights({ ...host, host, log, metrics, signal }, { controller, check });
}

function connections<V extends ControllerValues, G extends string, Opened>(
  { host, program, body, started: { values, log } }: Run<V, G, Opened>,
  metrics: Metrics,
  rights: Rights,
): Assembly<AsyncDisposable>['connect'] {
  const connect = async (requestMetrics?: Metrics): Promise<ApiConnection> => {
    const { client, clientWith, close } = await host.connectApi({
      program: program.name,
      kubeconfig: body.kubeconfig?.(values, host.env) ?? values.kubeconfig,
      master: values.master ?? '',
      qps: values['kube-api-qps'],
      burst: values['kube-api-burst'],
      log,
      metrics: requestMetrics,
    });
    return { client: rights.over(client), clientWith: (limits) => rights.over(clientWith(limits)), close };
  };
  return (user) => {
    if (user === 'lease') return orExit('Failed to create leaderelection client', () => connect());
    const requestMetrics = body.requestMetrics === true ? metrics : undefined;
    return orExit('Failed to create a Kubernetes client', () => connect(requestMetrics), body.clientExitCode);
  };
}
