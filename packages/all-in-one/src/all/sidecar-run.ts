// SPDX-License-Identifier: Apache-2.0
/**
 * One run of a controller that talks to the API server, in a session with the driver:
 *
 *   questions to driver and API server | what it will watch is announced | lease | work | drain, release
 *
 * It settles when nothing of the controller runs any more.
 */
import type { AuditBoard } from '@csi-sidecars/csi';
import { type ApiClient, type LeadingWork, type Logger, type Metrics, OrderlyStop } from '@csi-sidecars/runtime';
import {
  type InformerHub,
  type Inspection,
  type LeaderElector,
  type LeasedWork,
  type RateLimit,
  runUnderLease,
  watchesOf,
  withCaches,
} from '@csi-sidecars/runtime/internal';
import {
  describeController,
  ExitError,
  leaseOf,
  orRefusedElection,
  type ProgramHost,
  type Rights,
  type SharedRelease,
  type Tracing,
  writtenEventsOf,
} from '@csi-sidecars/sidecar';
import type { Barrier } from './barrier.ts';
import type { DriverSession } from './driver-session.ts';
import { createFence } from './fence.ts';
import { metricsOfRun } from './metrics-of-run.ts';
import type { PlannedSidecar, StartedAll } from './plan.ts';
import type { States } from './states.ts';
import type { RunEnd } from './supervision.ts';

/** What does not change from run to run. */
export interface SidecarParts {
  readonly planned: PlannedSidecar;
  readonly started: StartedAll;
  readonly host: ProgramHost;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** With the controller's own rate limit. */
  readonly client: ApiClient;
  /** Another client of the controller, with a rate limit of its own. */
  readonly withLimit: (limit: RateLimit) => ApiClient;
  /** That of all leases. */
  readonly leaseClient: ApiClient;
  readonly states: States;
  readonly rights: Rights;
  /** Undefined: what it decides is not recorded. */
  readonly inspection: Inspection | undefined;
  /** Undefined: no audit can be asked for. */
  readonly auditBoard: AuditBoard | undefined;
  readonly tracing: Tracing | undefined;
  /** Set by the first run that led: a record of this process may then be another one's. */
  readonly history: { hasLed: boolean };
}

/** What the controllers share until the driver is lost. */
export interface SharedParts {
  readonly session: DriverSession;
  readonly hub: InformerHub;
  /** All controllers announce what they will watch before the first one works. */
  readonly announced: Barrier;
  /** Those that get their leases at about the same time begin together, and share the first lists. */
  readonly elected: Barrier;
  readonly discovery: (client: ApiClient) => ApiClient;
  /** With it csi-provisioner takes the finalizer of csi-attacher off a deleted PersistentVolume in the same patch as its own. */
  readonly sharedRelease: SharedRelease;
}

/** Never rejects. */
export async function runSidecarOnce(parts: SidecarParts, shared: SharedParts, stopping: AbortSignal): Promise<RunEnd> {
  const { states, planned } = parts;
  const { session } = shared;
  const overdue = (): RunEnd | undefined => {
    if (stopping.aborted) return { kind: 'stopped' };
    return session.isLost() ? { kind: 'driverLost' } : undefined;
  };
  const run = metricsOfRun(parts.metrics);
  try {
    const result = await work(parts, shared, run.metrics);
    const end = overdue();
    if (end !== undefined) return end;
    if (result === 'lost') return { kind: 'leaseLost' };
    return { kind: 'failed', error: new Error('the controller ended without a reason') };
  } catch (error) {
    return overdue() ?? endOf(error);
  } finally {
    run.end();
    states.setElector(planned.name, undefined);
    shared.announced.arrive(planned.name);
    shared.elected.arrive(planned.name);
  }
}

function endOf(error: unknown): RunEnd {
  if (error instanceof ExitError && error.reason === 'driver') return { kind: 'lacking', error };
  if (error instanceof ExitError && error.reason === 'commandLine') return { kind: 'refused', error };
  return { kind: 'failed', error };
}

async function work(
  parts: SidecarParts,
  shared: SharedParts,
  metricsOfThisRun: Metrics,
): Promise<Awaited<ReturnType<typeof runUnderLease>>> {
  const { planned, started, host, log, metrics, client, withLimit, states, rights } = parts;
  const { session, hub, announced, elected, discovery } = shared;
  const { name } = planned;
  const { clock, random, env } = host;
  const { signal } = session;
  const channel = session.channelFor(log, planned.sidecar.driver(planned.values, env));
  const ports = { client, clock, random };
  states.set(name, 'starting');
  const fences = [createFence(client)];
  const prepared = await planned.sidecar.prepare({
    ...ports,
    client: discovery(client),
    withLimit: (limit) => {
      const fence = createFence(withLimit(limit));
      fences.push(fence);
      return fence.client;
    },
    started: { ...started, values: planned.values, given: planned.given, log },
    log,
    metrics: metricsOfThisRun,
    host,
    signal,
    name: session.name,
    channel,
    auditBoard: parts.auditBoard,
    sharedRelease: shared.sharedRelease,
  });
  const { lockName, assemble, driver } = prepared;
  const { flags } = planned.sidecar;
  const isConnected = (): boolean => !session.isLost();
  describeController(parts.inspection, { flags, values: planned.values, driver, isConnected, rights });
  rights.begin(withLimit, {
    values: started.values,
    lockNames: [lockName],
    rights: prepared.rights ?? { cluster: [] },
  });
  hub.announce(watchesOf(ports, assemble));
  announced.arrive(name);
  await announced.pass(signal);
  signal.throwIfAborted();

  const caches = {
    ...ports,
    client: fences[0]!.client,
    logger: rights.marked(log),
    metrics,
    tracer: parts.tracing?.tracerOf(name),
    inspection: parts.inspection,
    writtenEvents: writtenEventsOf(started.values),
    env,
    createInformers: () => hub.factoryFor(name),
  };
  const leading = withCaches(caches, assemble);
  const working: LeadingWork = async (stop, gate) => {
    states.set(name, 'working');
    const onStop = (): void => {
      if (!(stop.reason instanceof OrderlyStop)) for (const fence of fences) fence.close();
    };
    stop.addEventListener('abort', onStop);
    try {
      elected.arrive(name);
      await elected.pass(stop);
      if (!stop.aborted) await leading(stop, gate);
    } finally {
      stop.removeEventListener('abort', onStop);
    }
  };
  return await underLease(parts, { lockName, working }, signal);
}

interface Candidate {
  readonly lockName: string;
  readonly working: LeadingWork;
}

async function underLease(
  { started, host, log, metrics, leaseClient, states, planned, history, rights, inspection }: SidecarParts,
  { lockName, working }: Candidate,
  signal: AbortSignal,
): Promise<Awaited<ReturnType<typeof runUnderLease>>> {
  const { name } = planned;
  let running: Promise<void> = Promise.resolve();
  const release = started.gates['ReleaseLeaderElectionOnExit'] === true ? 'onExit' : 'never';
  const lease = leaseOf(host, { values: started.values, lockName, release });
  if (lease !== undefined) states.set(name, 'standby');
  const deps = {
    ...host,
    logger: rights.marked(log),
    metrics,
    connect: async () => ({ client: leaseClient, close: () => Promise.resolve() }),
    onElector: (elector: LeaderElector) => {
      states.setElector(name, elector);
      inspection?.elects(elector);
    },
  };
  const ownRecord = history.hasLed ? 'expire' : 'keep';
  const leased: LeasedWork = {
    lease: lease && { ...lease, metricName: lease.name, ownRecord },
    work: (stop, gate) => {
      history.hasLed = true;
      running = working(stop, gate);
      return running;
    },
  };
  const result = await orRefusedElection(() => runUnderLease(deps, leased, signal));
  // An election that is lost ends at once; its work has been cut off, and has to end before the next term.
  await running.catch(() => undefined);
  return result;
}
