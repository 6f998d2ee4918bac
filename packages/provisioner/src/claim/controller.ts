// SPDX-License-Identifier: Apache-2.0
/** The claim loop assembled: what wakes it, one run, and what a run leaves behind. */
import {
  type Clock,
  type Handler,
  type Outcome,
  done,
  type Lister,
  type PersistentVolumeClaim,
  type Reconcile,
  runDecisions,
  type StorageClass,
  stringifyJson,
  type EventRecorder,
} from '@csi-sidecars/runtime';
import type { ProvisionerMetrics } from '../metrics.ts';
import { classNameOf } from '../metadata.ts';
import { type ClaimUid, uidOf } from './claim.ts';
import { decide } from './decide.ts';
import type { InfeasibleClaims } from './infeasible.ts';
import { observe } from './observe.ts';
import { perform, type PerformDeps } from './perform.ts';
import type { ClaimState, Conclusion } from './state.ts';

export interface ClaimLoopDeps extends PerformDeps {
  readonly clock: Clock;
  readonly classes: { readonly lister: Lister<StorageClass> };
  /** Events under the driver side's component name. */
  readonly driverEvents: EventRecorder;
  readonly infeasible: InfeasibleClaims;
  readonly metrics: ProvisionerMetrics;
}

export function createClaimReconcile(deps: ClaimLoopDeps): Reconcile<ClaimUid> {
  const caches = {
    claims: deps.claims.lister,
    volumes: deps.volumes.lister,
    classes: deps.classes.lister,
    unsettled: deps.unsettled,
    infeasible: deps.infeasible,
    settings: deps.context.settings,
    driverName: deps.context.driver.name,
  };
  return async (uid, signal) => {
    const startedMs = deps.clock.monotonicMs();
    const observed = observe(caches, uid);
    if (observed === undefined) return done;
    const { state, conclusion } = await runDecisions(observed, {
      subject: `claim ${uid}`,
      decide: (known) => decide(known, deps.context),
      perform: async (action, known) => ({ ...known, ...(await perform(deps, known, { action, signal })) }),
    });
    return conclude(deps, state, { conclusion, startedMs });
  };
}

function conclude(
  deps: ClaimLoopDeps,
  { claim, storageClass }: ClaimState,
  { conclusion, startedMs }: { readonly conclusion: Conclusion; readonly startedMs: number },
): Outcome {
  for (const event of conclusion.events) deps.events.record(claim, event);
  for (const event of conclusion.driverEvents) deps.driverEvents.record(claim, event);
  if (conclusion.counts === 'success') deps.metrics.provisioned(claim, deps.clock.monotonicMs() - startedMs);
  if (conclusion.counts === 'failure') deps.metrics.provisionFailed(claim);
  if (conclusion.infeasible === 'yes' && storageClass !== undefined) {
    deps.infeasible.add(uidOf(claim), storageClass.metadata?.uid ?? '');
  }
  return conclusion.outcome;
}

/**
 * What wakes the loop: a claim that appeared, a change that can matter, and the resync. Our own finalizer and binding results
 * are no reason: they would start the next attempt at once and so undo the backoff.
 */
export function claimHandler(
  enqueue: (uid: ClaimUid) => void,
  forget: (uid: ClaimUid) => void,
): Handler<PersistentVolumeClaim> {
  return {
    add: (claim) => enqueue(uidOf(claim)),
    update: (previous, current) => {
      if (isResync(previous, current) || matters(previous, current)) enqueue(uidOf(current));
    },
    delete: ({ object }) => forget(uidOf(object)),
  };
}

/**
 * A class that is there anew: what waited for one of its name, or was impossible with the one before, need not wait any
 * longer. Upstream's claims find it with their next try, up to five minutes later.
 */
export function classHandler(
  claims: Lister<PersistentVolumeClaim>,
  enqueue: (uid: ClaimUid) => void,
): Handler<StorageClass> {
  return {
    add: ({ metadata }) => {
      for (const claim of claims.list()) {
        if (classNameOf(claim) === metadata?.name) enqueue(uidOf(claim));
      }
    },
  };
}

function isResync(previous: PersistentVolumeClaim, current: PersistentVolumeClaim): boolean {
  return previous.metadata?.resourceVersion === current.metadata?.resourceVersion;
}

function matters(previous: PersistentVolumeClaim, current: PersistentVolumeClaim): boolean {
  const relevant = ({ metadata, spec }: PersistentVolumeClaim): string =>
    stringifyJson([metadata?.uid, metadata?.deletionTimestamp, metadata?.annotations, spec]);
  return relevant(previous) !== relevant(current);
}
