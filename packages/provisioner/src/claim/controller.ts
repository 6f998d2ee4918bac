// SPDX-License-Identifier: Apache-2.0
/** The claim loop assembled: what wakes it, one run, and what a run leaves behind. */
import {
  type EventRecorder,
  type Handler,
  type Outcome,
  done,
  type Lister,
  type PersistentVolumeClaim,
  type Reconcile,
  runDecisions,
  type StorageClass,
  stringifyJson,
} from '@csi-sidecars/runtime';
import type { ProvisionerMetrics } from '../metrics.ts';
import { classNameOf } from '../metadata.ts';
import type { ClusterTopology } from '../topology/requirement.ts';
import { type ClaimUid, uidOf } from './claim.ts';
import { decide } from './decide.ts';
import { deletionOf } from './deletion.ts';
import { logEnd } from './log-lines.ts';
import { observe, type ObserveDeps } from './observe.ts';
import { perform, type PerformDeps } from './perform.ts';
import type { Action, ClaimState, Conclusion } from './state.ts';

export interface ClaimLoopDeps extends PerformDeps {
  readonly classes: { readonly lister: Lister<StorageClass> };
  /** Undefined: topology is not supported. */
  readonly cluster: ClusterTopology | undefined;
  /** Events under the driver side's component name. */
  readonly driverEvents: EventRecorder;
  readonly metrics: ProvisionerMetrics;
  readonly lookAgain: (uid: ClaimUid, afterMs: number) => void;
}

export function createClaimReconcile(deps: ClaimLoopDeps): Reconcile<ClaimUid> {
  const { cluster, memory, clock, context } = deps;
  const caches: ObserveDeps = {
    claims: deps.claims.lister,
    volumes: deps.volumes.lister,
    classes: deps.classes.lister,
    cluster,
    memory,
    clock,
    context,
  };
  return async (uid, signal) => {
    const startedMs = clock.monotonicMs();
    const observed = observe(caches, uid);
    if (observed === undefined) return done;
    const { state, conclusion } = await runDecisions<ClaimState, Action>(observed, {
      subject: `claim ${uid}`,
      decide: (known) => decide(known, context),
      perform: async (action, known) => {
        const next = { ...known, ...(await perform(deps, known, { action, signal })) };
        // A call takes time, and the deletion is older after it.
        return next.deletion === undefined ? next : { ...next, deletion: deletionOf(clock, next.claim, next.deletion) };
      },
    });
    return conclude(deps, state, { conclusion, startedMs });
  };
}

function conclude(
  deps: ClaimLoopDeps,
  state: ClaimState,
  { conclusion, startedMs }: { readonly conclusion: Conclusion; readonly startedMs: number },
): Outcome {
  const { claim, deletion } = state;
  const { events, driverEvents, counts, answer, lookAgainMs, givenUp } = conclusion;
  logEnd(deps.logger, state, conclusion);
  for (const event of events) deps.events.record(claim, event);
  for (const event of driverEvents) deps.driverEvents.record(claim, event);
  if (counts === 'success') deps.metrics.provisioned(claim, deps.clock.monotonicMs() - startedMs);
  if (counts === 'failure') deps.metrics.provisionFailed(claim);
  if (givenUp === 'yes') deps.metrics.givenUp(claim);
  if (answer !== undefined && deletion !== undefined) deps.memory.answered(claim, deletion, answer);
  if (lookAgainMs !== undefined) deps.lookAgain(uidOf(claim), lookAgainMs);
  return conclusion.outcome;
}

/**
 * What wakes the loop: a claim that appeared, a change that can matter, and the resync. Our own finalizer and binding results
 * are no reason: they would start the next attempt at once, whatever the backoff.
 */
export function claimHandler(
  enqueue: (uid: ClaimUid, failures: 'keep' | 'forget') => void,
  forget: (uid: ClaimUid) => void,
): Handler<PersistentVolumeClaim> {
  return {
    add: (claim) => enqueue(uidOf(claim), 'keep'),
    update: (previous, current) => {
      if (isResync(previous, current)) enqueue(uidOf(current), 'keep');
      // A deleted claim waits for its outcome only: what was tried before its deletion is no reason to wait longer.
      else if (matters(previous, current))
        enqueue(uidOf(current), isNewlyDeleted(previous, current) ? 'forget' : 'keep');
    },
    delete: ({ object }) => forget(uidOf(object)),
  };
}

/**
 * A class that appears wakes the claims that name it: they waited for it, or were impossible with the class of that name
 * before. Upstream's claims find it with their next try, up to five minutes later.
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

function isNewlyDeleted(previous: PersistentVolumeClaim, current: PersistentVolumeClaim): boolean {
  return previous.metadata?.deletionTimestamp === undefined && current.metadata?.deletionTimestamp !== undefined;
}

function matters(previous: PersistentVolumeClaim, current: PersistentVolumeClaim): boolean {
  const relevant = ({ metadata, spec }: PersistentVolumeClaim): string =>
    stringifyJson([metadata?.uid, metadata?.deletionTimestamp, metadata?.annotations, spec]);
  return relevant(previous) !== relevant(current);
}
