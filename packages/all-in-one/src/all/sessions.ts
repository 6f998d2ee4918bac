// SPDX-License-Identifier: Apache-2.0
/** The controllers that talk to the API server, in one session with the driver after the other. */
import { type ApiClient, whenAborted } from '@csi-sidecars/runtime';
import {
  type ApiConnection,
  createInformerHub,
  listSettings,
  type RateLimit,
  withOutageLog,
} from '@csi-sidecars/runtime/internal';
import {
  createSharedRelease,
  type DriverOptions,
  exitCodes,
  noticingRefusals,
  openRights,
} from '@csi-sidecars/sidecar';
import { createBarrier } from './barrier.ts';
import { sharedDiscovery } from './discovery.ts';
import { type DriverSession, openSession } from './driver-session.ts';
import type { Plan, PlannedSidecar, StartedAll } from './plan.ts';
import type { Run, Shared } from './process.ts';
import { programNameOf } from './programs.ts';
import { runSidecarOnce, type SharedParts, type SidecarParts } from './sidecar-run.ts';
import { type ProcessFault, supervise, type SuperviseDeps, type Supervised } from './supervise.ts';

/** How long a slow start of one controller holds up the others, so that they share their informers. */
const announcementLimitMs = 5_000;

/** How long a controller that has its lease waits for others that may have theirs in a moment. */
const electionLimitMs = 500;

export interface Running extends Run, Shared {
  readonly endProcess: (fault: ProcessFault) => void;
}

export function supervision({ host, started, plan, states, endProcess }: Running, name: string): SuperviseDeps {
  const log = started.log.with({ controller: name });
  return { clock: host.clock, log, states, onFailure: plan.onFailure, endProcess };
}

/** From one connection to the driver to the next, until the signal aborts. */
export async function runSessions(running: Running): Promise<void> {
  const { plan, started, host, signal, metrics, api, states, tracing, endProcess } = running;
  if (api === undefined) return;
  const leaseClient = leaseClientOf(started, plan, api);
  using checks = new DisposableStack();
  const controllers = plan.sidecars.map((planned) => {
    const controller = partsOf(running, { api, leaseClient }, planned);
    checks.use(controller.parts.rights);
    return controller;
  });
  /** Those that have not ended in an earlier session: they take the latest one when they have. */
  const followers = new Map<SidecarController, Promise<void>>();
  let latest: Followed | undefined;
  const follow = async (controller: SidecarController): Promise<void> => {
    const { parts, supervised } = controller;
    let joined: Followed | undefined;
    for (;;) {
      const next = latest;
      if (next === undefined || next === joined || next.session.signal.aborted) break;
      joined = next;
      const { session, shared } = next;
      next.users += 1;
      await supervise(
        supervision(running, supervised.name),
        { controller: supervised, run: () => runSidecarOnce(parts, shared, signal) },
        session.signal,
      );
      next.users -= 1;
      closeIfUnused(next);
    }
    followers.delete(controller);
  };
  let driverName: string | undefined;
  while (!signal.aborted) {
    const session = await openSession(
      { clock: host.clock, log: started.log, metrics, host },
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
    tracing?.setDriver(session.name);
    const free = controllers.filter((controller) => !followers.has(controller));
    const opened = { session, shared: sharedPartsOf(running, { api, session, free, controllers }), users: 0 };
    latest = opened;
    for (const controller of free) followers.set(controller, follow(controller));
    await whenAborted(session.signal);
    closeIfUnused(opened);
  }
  await Promise.all(followers.values());
  for (const { name } of plan.sidecars) states.set(name, 'stopped');
}

interface Followed {
  readonly session: DriverSession;
  readonly shared: SharedParts;
  /** Controllers that run in it. */
  users: number;
}

/** Running calls of an orderly stop need the connection. */
function closeIfUnused({ session, users }: Followed): void {
  if (users === 0 && session.signal.aborted) session.close();
}

interface Opened {
  readonly api: ApiConnection;
  readonly session: DriverSession;
  /** The controllers that begin at once. The others may take long to end their runs in an earlier session. */
  readonly free: readonly SidecarController[];
  /** All of them. */
  readonly controllers: readonly SidecarController[];
}

/** Whose request to the API server it was cannot be known of shared caches. */
function refusedForAll(controllers: readonly SidecarController[]): () => void {
  return () => {
    for (const { parts } of controllers) parts.rights.refused();
  };
}

function sharedPartsOf({ started, host, metrics }: Running, { api, session, free, controllers }: Opened): SharedParts {
  const { clock, random, env } = host;
  const logger = started.log;
  const names = free.map(({ supervised }) => supervised.name);
  return {
    session,
    hub: createInformerHub({
      client: withOutageLog({ clock, logger }, noticingRefusals(api.client, refusedForAll(controllers))),
      clock,
      random,
      logger,
      metrics,
      ...listSettings(env),
    }),
    announced: createBarrier(clock, names, announcementLimitMs),
    elected: createBarrier(clock, names, electionLimitMs),
    discovery: sharedDiscovery(),
    sharedRelease: createSharedRelease(),
  };
}

interface SidecarController {
  readonly parts: SidecarParts;
  readonly supervised: Supervised;
}

function partsOf(
  { started, host, metrics, states, signal, tracing, inspections }: Running,
  { api, leaseClient }: { readonly api: ApiConnection; readonly leaseClient: ApiClient },
  planned: PlannedSidecar,
): SidecarController {
  const { name, values, sidecar } = planned;
  const log = started.log.with({ controller: name });
  const check = started.values['check-rights'] ? 'on' : 'off';
  const rights = openRights({ ...host, host, log, metrics, signal }, { controller: name, check });
  const withLimit = (limit: RateLimit): ApiClient =>
    rights.over(api.clientWith({ ...limit, logger: log, component: name, counted: sidecar.requestMetrics }));
  const client = withLimit({ qps: values['kube-api-qps'] as number, burst: values['kube-api-burst'] as number });
  return {
    parts: {
      planned,
      started,
      host,
      log,
      metrics,
      client,
      withLimit,
      leaseClient: rights.over(leaseClient),
      states,
      rights,
      inspection: inspections.of(programNameOf(name)),
      auditBoard: inspections.auditOf(programNameOf(name)),
      tracing,
      history: { hasLed: false },
    },
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
