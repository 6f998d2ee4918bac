// SPDX-License-Identifier: Apache-2.0
/**
 * The one order in which the parts of a program start. `runController` and the programs of `sidecar` choose the parts:
 *
 *   API server | open | HTTP | prepare | lease, or at once | caches | loops
 *
 * They are closed in reverse order.
 */
import type { Controller } from '../controller/controller.ts';
import type { DiagnosticsServer } from '../diagnostics/diagnostics-server.ts';
import type { ElectionResult } from '../lease/election-state.ts';
import type { LeaderElector, LeadingWork } from '../lease/leader-elector.ts';
import type { ApiConnection } from './connect-api.ts';
import { type LeaseDeps, type LeaseOptions, runUnderLease } from './under-lease.ts';
import { type LeadingPorts, withCaches, type WithCachesDeps } from './with-caches.ts';

export interface AssemblyDeps extends Omit<LeaseDeps, 'connect' | 'onElector'>, Omit<WithCachesDeps, 'client'> {
  /** Runs the work when this process leads. Default: under the lease, or at once without one. */
  readonly elect?: ((work: LeadingWork, signal: AbortSignal) => Promise<ElectionResult>) | undefined;
}

export interface Assembly<Opened> {
  /** Called for the controller, and again for a lease, which has a connection of its own. */
  readonly connect: (user: 'controller' | 'lease') => Promise<ApiConnection>;
  /** Opens what is needed before HTTP is answered. The stack closes it. */
  readonly open: (api: ApiConnection, stack: AsyncDisposableStack) => Promise<Opened>;
  /** Undefined: the program serves nothing. */
  readonly serve: (isHealthy: () => boolean) => Promise<DiagnosticsServer | undefined>;
  readonly prepare: (opened: Opened, diagnostics: DiagnosticsServer | undefined) => Promise<PreparedAssembly>;
}

export interface PreparedAssembly {
  readonly lease: LeaseOptions | undefined;
  /** Called for each term as a leader. It starts nothing. */
  readonly assemble: (ports: LeadingPorts) => Controller;
}

export async function runAssembly<Opened>(
  { elect, ...deps }: AssemblyDeps,
  { connect, open, serve, prepare }: Assembly<Opened>,
  signal: AbortSignal,
): Promise<ElectionResult> {
  await using stack = new AsyncDisposableStack();
  const api = await connect('controller');
  stack.defer(api.close);
  const opened = await open(api, stack);
  let elector: LeaderElector | undefined;
  const diagnostics = stack.use(await serve(() => elector?.isHealthy ?? true));
  const { lease, assemble } = await prepare(opened, diagnostics);
  const work = withCaches({ ...deps, client: api.client }, assemble);
  if (elect !== undefined) return await elect(work, signal);
  const onElector = (made: LeaderElector): void => {
    elector = made;
    deps.inspection?.elects(made);
  };
  const leaseDeps = { ...deps, connect: () => connect('lease'), onElector };
  return await runUnderLease(leaseDeps, { lease, work }, signal);
}
