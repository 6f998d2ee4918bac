// SPDX-License-Identifier: Apache-2.0
/**
 * `csi-sidecars --controllers=...`, from the first argument to the exit code:
 *
 *   flags, plan | API server | HTTP | controllers, supervised, in sessions with the driver | drain
 *
 * What is shared is made here; what follows from a failure is in supervision.ts.
 */
import type { SocketFiles, Platform } from '@csi-sidecars/node-driver-registrar';
import {
  type ApiClient,
  type HttpRoute,
  linkSignals,
  type Metrics,
  noMetrics,
  OrderlyStop,
} from '@csi-sidecars/runtime';
import {
  type ApiConnection,
  createInformerHub,
  type DiagnosticsServer,
  leaderHealthRoute,
  listStreaming,
  profilingRoutes,
  type RateLimit,
  serveDiagnostics,
} from '@csi-sidecars/runtime/internal';
import {
  type DriverOptions,
  ExitError,
  exitCodes,
  type FlagsOf,
  orExit,
  type ProgramDeps,
  type ProgramFlags,
  runProgram,
  type ScrapedMetrics,
} from '@csi-sidecars/sidecar';
import { createBarrier } from './barrier.ts';
import { allFlags, allGates, valuesOf } from './command-line.ts';
import { sharedDiscovery } from './discovery.ts';
import { openSession } from './driver-session.ts';
import { type NodeParts, type NodeRun, planLivenessprobe, planRegistrar } from './node-run.ts';
import { type AllValues, type Plan, type PlannedSidecar, planOf, type StartedAll } from './plan.ts';
import { runSidecarOnce, type SidecarParts } from './sidecar-run.ts';
import type { Sidecars } from './sidecars.ts';
import { createStates, type States } from './states.ts';
import type { RunEnd } from './supervision.ts';
import { type ProcessFault, supervise, type SuperviseDeps, type Supervised } from './supervise.ts';

export interface AllDeps extends ProgramDeps {
  readonly files: SocketFiles;
  readonly platform: Platform;
  /** Default: those of this repository. */
  readonly sidecars?: Sidecars;
}

export const allProgram: ProgramFlags<AllValues, string> = {
  name: 'csi-sidecars',
  syntax: 'mixed',
  gates: allGates,
  flags: allFlags as unknown as FlagsOf<AllValues>,
};

/** The process has its own limit for draining. This one is for what hangs after that. */
const drainToleranceMs = 5_000;
/** How long a slow start of one controller holds up the others, so that they share their informers. */
const announcementLimitMs = 5_000;

/** Resolves with the exit code. */
export function runAll({ host, lifecycle, ...node }: AllDeps): Promise<number> {
  const deps = { host: { ...host, argv0: allProgram.name }, lifecycle };
  const start = { order: ['version', 'gates'] } as const;
  return runProgram(deps, { program: allProgram, start }, async (started) => {
    const plan = planOf(started, node.sidecars);
    const { shutdownTimeoutMs } = plan;
    lifecycle.configure({ onSignal: 'drain', drainMs: shutdownTimeoutMs + drainToleranceMs });
    await using stack = new AsyncDisposableStack();
    using stopping = linkSignals([lifecycle.signal]);
    const run = { ...node, host, started, plan, stack, signal: stopping.signal };
    let http: DiagnosticsServer | undefined;
    const nodeRuns = planNodeRuns(run, (route) => http?.add(route));
    const process = await openProcess(run);
    http = process.http;

    let fault: ProcessFault | undefined;
    const endProcess = (found: ProcessFault): void => {
      fault ??= found;
      stopping.abort(new OrderlyStop());
    };
    const working = runControllers({ ...run, ...process, nodeRuns, endProcess });
    const overdue = await endedInTime(run, working);
    if (overdue) {
      const waitingFor = [...process.states.running].join(', ');
      throw new ExitError(exitCodes.failure, `shutdown deadline exceeded: waiting for ${waitingFor}`);
    }
    if (fault === undefined) return exitCodes.success;
    const { controller, error, code } = fault;
    if (error instanceof ExitError) throw new ExitError(code, error.message, { cause: error.cause });
    throw new ExitError(code, `csi-sidecars ends because of ${controller ?? 'the driver'}`, { cause: error });
  });
}

interface Run extends Omit<AllDeps, 'lifecycle'> {
  readonly started: StartedAll;
  readonly plan: Plan;
  readonly stack: AsyncDisposableStack;
  /** Aborts with an OrderlyStop. */
  readonly signal: AbortSignal;
}

/** What lives as long as the process. */
interface Shared {
  readonly metrics: Metrics;
  readonly states: States;
  readonly api: ApiConnection | undefined;
  readonly http: DiagnosticsServer | undefined;
}

async function openProcess(run: Run): Promise<Shared> {
  const { host, started, plan, stack } = run;
  const { values, log } = started;
  // Refused environments, before anything is opened.
  for (const { sidecar, values: own } of plan.sidecars) sidecar.driver(own, host.env);
  const address = values['metrics-address'] || values['http-endpoint'];
  const scraped = address === '' ? undefined : await host.openMetrics();
  const metrics = scraped ?? noMetrics;
  const states = createStates(plan.controllers, metrics);
  const api = plan.sidecars.length === 0 ? undefined : await connect(run, metrics);
  if (api !== undefined) stack.defer(api.close);
  const http = scraped && stack.use(await listen(run, { address, metrics: scraped, states }));
  log.info(0, 'Controllers', { controllers: plan.controllers });
  return { metrics, states, api, http };
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

interface Listening {
  readonly address: string;
  readonly metrics: ScrapedMetrics;
  readonly states: States;
}

function listen({ host, started, plan }: Run, { address, metrics, states }: Listening): Promise<DiagnosticsServer> {
  const { values, log, stderr } = started;
  const { clock, argv0, args, startedAtMs } = host;
  const isProfiled = plan.sidecars.some(({ values: own }) => own['enable-pprof'] === true);
  return orExit('Failed to start HTTP server', () =>
    serveDiagnostics(
      { logger: log, metrics, logWriter: stderr },
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

interface Running extends Run, Shared {
  readonly nodeRuns: readonly PlannedNode[];
  readonly endProcess: (fault: ProcessFault) => void;
}

interface PlannedNode {
  readonly name: NodeName;
  readonly run: NodeRun;
}

type NodeName = 'livenessprobe' | 'node-driver-registrar';

async function runControllers(running: Running): Promise<void> {
  const { nodeRuns, states, signal } = running;
  await Promise.all([
    ...nodeRuns.map(({ name, run }) => {
      const supervised = { name, failures: 0 };
      const runOnce = (): Promise<RunEnd> => {
        states.set(name, 'working');
        return run(signal);
      };
      return supervise(supervision(running, name), { controller: supervised, run: runOnce }, signal);
    }),
    runSessions(running),
  ]);
}

function supervision({ host, started, plan, states, endProcess }: Running, name: string): SuperviseDeps {
  const log = started.log.with({ controller: name });
  return { clock: host.clock, log, states, onFailure: plan.onFailure, endProcess };
}

/** Throws an ExitError for settings that one of them refuses. */
function planNodeRuns(
  { plan, started, host, files, platform }: Run,
  add: (route: HttpRoute) => void,
): readonly PlannedNode[] {
  const { values, given, log } = started;
  const isOpen = values['http-endpoint'] !== '';
  const isEnabled = (name: NodeName): boolean => plan.controllers.includes(name);
  const partsOf = (name: NodeName): NodeParts => {
    const path = name === 'node-driver-registrar' && isEnabled('livenessprobe') ? `/healthz/${name}` : '/healthz';
    const serve = isOpen ? (route: HttpRoute) => add({ ...route, path }) : undefined;
    return { host, files, platform, serve, log: log.with({ controller: name }) };
  };
  const planners = { livenessprobe: planLivenessprobe, 'node-driver-registrar': planRegistrar } as const;
  return (['livenessprobe', 'node-driver-registrar'] as const).filter(isEnabled).flatMap((name) => {
    const own = valuesOf(name, values as unknown as Readonly<Record<string, unknown>>, given);
    const run = planners[name](partsOf(name), own);
    return run === undefined ? [] : [{ name, run }];
  });
}

/** From one connection to the driver to the next, until the signal aborts. */
async function runSessions(running: Running): Promise<void> {
  const { plan, started, host, signal, metrics, api, states, endProcess } = running;
  if (api === undefined) return;
  const leaseClient = leaseClientOf(started, plan, api);
  const controllers = plan.sidecars.map((planned) => partsOf(running, { api, leaseClient }, planned));
  let driverName: string | undefined;
  while (!signal.aborted) {
    const session = await openSession(
      { clock: host.clock, log: started.log, metrics },
      driverOptions(running),
      signal,
    ).catch((error: unknown) => endProcess({ code: exitCodes.failure, error }));
    if (session === undefined) break;
    driverName ??= session.name;
    if (session.name !== driverName) {
      endProcess({
        code: exitCodes.failure,
        error: new Error(`the driver was ${driverName}, now it is ${session.name}`),
      });
      session.close();
      break;
    }
    const { clock, random, env } = host;
    const shared = {
      session,
      hub: createInformerHub({
        client: api.client,
        clock,
        random,
        logger: started.log,
        metrics,
        streaming: listStreaming(env),
      }),
      barrier: createBarrier(
        clock,
        plan.sidecars.map(({ name }) => name),
        announcementLimitMs,
      ),
      discovery: sharedDiscovery(),
    };
    await Promise.all(
      controllers.map(({ parts, supervised }) =>
        supervise(
          supervision(running, supervised.name),
          { controller: supervised, run: () => runSidecarOnce(parts, shared, signal) },
          session.signal,
        ),
      ),
    );
    await whenAborted(session.signal);
    session.close();
  }
  for (const { name } of plan.sidecars) states.set(name, 'stopped');
}

interface SidecarController {
  readonly parts: SidecarParts;
  readonly supervised: Supervised;
}

function partsOf(
  { started, host, metrics, states }: Running,
  { api, leaseClient }: { readonly api: ApiConnection; readonly leaseClient: ApiClient },
  planned: PlannedSidecar,
): SidecarController {
  const { name, values, sidecar } = planned;
  const log = started.log.with({ controller: name });
  const withLimit = (limit: RateLimit): ApiClient =>
    api.clientWith({ ...limit, logger: log, component: name, counted: sidecar.requestMetrics });
  const client = withLimit({ qps: values['kube-api-qps'] as number, burst: values['kube-api-burst'] as number });
  return {
    parts: { planned, started, host, log, metrics, client, withLimit, leaseClient, states, history: { hasLed: false } },
    supervised: { name, failures: 0 },
  };
}

/** Leases are renewed however busy the controllers are. */
function leaseClientOf({ values, log }: StartedAll, { sidecars }: Plan, api: ApiConnection): ApiClient {
  return api.clientWith({
    logger: log,
    component: 'leader-election',
    counted: false,
    qps: values['kube-api-qps'] * sidecars.length,
    burst: values['kube-api-burst'] * sidecars.length,
  });
}

/** The largest limits of the controllers: they all wait for the same answers. */
function driverOptions({ plan, host, started }: Running): DriverOptions {
  const wanted = plan.sidecars.map(({ sidecar, values }) => sidecar.driver(values, host.env));
  return {
    address: started.values['csi-address'],
    probeTimeoutMs: Math.max(...wanted.map(({ probeTimeoutMs }) => probeTimeoutMs)),
    nameTimeoutMs: Math.max(...wanted.map(({ nameTimeoutMs }) => nameTimeoutMs)),
    isMigrated: (name) => wanted.some(({ isMigrated }) => isMigrated?.(name) === true),
  };
}

/** Resolves with whether the time to end had passed before the controllers had ended. */
async function endedInTime({ host, plan, signal }: Run, working: Promise<void>): Promise<boolean> {
  const late = Promise.withResolvers<true>();
  const startClock = (): void => {
    timers.use(host.clock.timer(plan.shutdownTimeoutMs, () => late.resolve(true)));
  };
  using timers = new DisposableStack();
  if (signal.aborted) startClock();
  else signal.addEventListener('abort', startClock, { once: true });
  try {
    return await Promise.race([working.then(() => false), late.promise]);
  } finally {
    signal.removeEventListener('abort', startClock);
  }
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
