// SPDX-License-Identifier: Apache-2.0
/**
 * The one order in which the parts of a program start. `runController` and the programs of `sidecar` choose the parts:
 *
 *   API server | open | HTTP | prepare | lease, or at once | caches | loops
 *
 * They are closed in reverse order. A process may run other controllers beside the one that it is about, each under a lease of its own: they
 * share the connection, the HTTP server and the caches.
 */
import type { ApiClient } from '../api/client.ts';
import { withOutageLog } from '../api/outage-log.ts';
import type { Timer } from '../clock/clock.ts';
import { linkSignals } from '../clock/deadline.ts';
import type { Controller } from '../controller/controller.ts';
import type { DiagnosticsServer } from '../diagnostics/diagnostics-server.ts';
import { createInformerHub, type InformerHub } from '../informer/shared/hub.ts';
import type { Inspection } from '../inspection/inspection.ts';
import type { ElectionResult } from '../lease/election-state.ts';
import type { LeaderElector, LeadingWork } from '../lease/leader-elector.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import type { Tracer } from '../tracing/tracer.ts';
import type { ApiConnection } from './connect-api.ts';
import { type LeaseDeps, type LeaseOptions, runUnderLease } from './under-lease.ts';
import { type LeadingPorts, listSettings, withCaches, type WithCachesDeps } from './with-caches.ts';

export interface AssemblyDeps extends Omit<LeaseDeps, 'connect' | 'onElector'>, Omit<WithCachesDeps, 'client'> {
  /** Runs the work when this process leads. Default: under the lease, or at once without one. */
  readonly elect?: ((work: LeadingWork, signal: AbortSignal) => Promise<ElectionResult>) | undefined;
}

export interface Assembly<Opened extends AsyncDisposable> {
  /** Called for the controller, and again for a lease, which has a connection of its own. */
  readonly connect: (user: 'controller' | 'lease') => Promise<ApiConnection>;
  /** Opens what is needed before HTTP is answered. It is disposed of before the connection is closed. */
  readonly open: (api: ApiConnection) => Promise<Opened>;
  /** Undefined: the program serves nothing. */
  readonly serve: (isHealthy: () => boolean) => Promise<DiagnosticsServer | undefined>;
  readonly prepare: (opened: Opened, diagnostics: DiagnosticsServer | undefined) => Promise<PreparedAssembly>;
}

/** For a program that opens nothing of its own. */
export const nothingOpened: AsyncDisposable = { [Symbol.asyncDispose]: () => Promise.resolve() };

export interface PreparedAssembly extends PreparedWork {
  /** What else the process runs. The first controller that ends, for whatever reason, stops the others in order. Default: nothing. */
  readonly beside?: readonly WorkBeside[];
}

export interface PreparedWork {
  readonly lease: LeaseOptions | undefined;
  /** Waited for before the process becomes a candidate for this work. What is beside it does not wait. */
  readonly before?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** Called for each term as a leader. It starts nothing. */
  readonly assemble: (ports: LeadingPorts) => Controller;
}

export interface WorkBeside extends PreparedWork {
  /** Unique in the process. */
  readonly name: string;
  /** With a rate limit of its own. */
  readonly client: ApiClient;
  readonly inspection: Inspection | undefined;
  readonly tracer: Tracer | undefined;
}

/** How long the other controllers may take to end in order after one has ended. After a signal the limit of the process counts. */
const drainMs = 25_000;

export async function runAssembly<Opened extends AsyncDisposable>(
  { elect, ...deps }: AssemblyDeps,
  { connect, open, serve, prepare }: Assembly<Opened>,
  signal: AbortSignal,
): Promise<ElectionResult> {
  const api = await connect('controller');
  await using _ = { [Symbol.asyncDispose]: api.close };
  await using opened = await open(api);
  const electors: LeaderElector[] = [];
  await using diagnostics = await serve(() => electors.every(({ isHealthy }) => isHealthy));
  const { beside = [], ...prepared } = await prepare(opened, diagnostics);
  const { inspection, tracer } = deps;
  const main: WorkBeside = { ...prepared, name: 'main', client: api.client, inspection, tracer };
  const hub = beside.length === 0 ? undefined : createHub(deps, api.client);
  const run =
    ({ name, lease, before, assemble, ...own }: WorkBeside) =>
    async (stop: AbortSignal) => {
      if (before !== undefined && !(await isReady(before, stop))) return 'stopped';
      const work = withCaches(
        { ...deps, ...own, ...(hub && { createInformers: () => hub.factoryFor(name) }) },
        assemble,
      );
      if (elect !== undefined) return await elect(work, stop);
      const onElector = (elector: LeaderElector): void => {
        electors.push(elector);
        own.inspection?.elects(elector);
      };
      return await runUnderLease({ ...deps, connect: () => connect('lease'), onElector }, { lease, work }, stop);
    };
  return await endTogether(deps, [main, ...beside].map(run), signal);
}

/** False: the process is to end. */
async function isReady(before: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<boolean> {
  try {
    await before(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return !signal.aborted;
}

/** Those that watch the same kind in the same way share a cache, which begins with the first of them that leads. */
function createHub(
  deps: Pick<AssemblyDeps, 'clock' | 'random' | 'logger' | 'metrics' | 'env'>,
  client: ApiClient,
): InformerHub {
  return createInformerHub({ ...deps, client: withOutageLog(deps, client), ...listSettings(deps.env) });
}

/** Lost: at least one of them has lost its lease. Rejects with the first failure. */
async function endTogether(
  { clock }: Pick<AssemblyDeps, 'clock'>,
  runs: readonly ((signal: AbortSignal) => Promise<ElectionResult>)[],
  signal: AbortSignal,
): Promise<ElectionResult> {
  using linked = linkSignals([signal]);
  const timers: Timer[] = [];
  using _ = { [Symbol.dispose]: () => timers.forEach((timer) => timer.cancel()) };
  const late = Promise.withResolvers<ElectionResult>();
  let isLost = false;
  const ended = runs.map(async (run) => {
    try {
      const result = await run(linked.signal);
      isLost ||= result === 'lost';
      return result;
    } finally {
      if (!linked.signal.aborted && runs.length > 1) {
        timers.push(clock.timer(drainMs, () => late.resolve('lost')));
        linked.abort(new OrderlyStop('another controller of the process has ended'));
      }
    }
  });
  const all = Promise.allSettled(ended).then((results): ElectionResult => {
    for (const result of results) if (result.status === 'rejected') throw result.reason as Error;
    if (isLost) return 'lost';
    return results.some((result) => result.status === 'fulfilled' && result.value === 'stopped')
      ? 'stopped'
      : 'released';
  });
  return await Promise.race([all, late.promise]);
}
