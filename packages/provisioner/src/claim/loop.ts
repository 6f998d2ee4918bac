// SPDX-License-Identifier: Apache-2.0
/** The claim loop: its watches, the changes that wake it, and the effects at the end of a run. */
import {
  type Change,
  type Clock,
  type ConcludedRun,
  defineLoop,
  type EndedRun,
  isResync,
  type KubeObject,
  type Loop,
  type PersistentVolumeClaim,
  stringifyJson,
} from '@csi-sidecars/runtime';
import { classNameOf } from '../metadata.ts';
import { type Watched, isWorkedOn } from '../watched.ts';
import { type ClaimUid, uidOf } from './claim.ts';
import { provision } from './flow.ts';
import { isOutstanding } from './known.ts';
import { logEnd } from './log-lines.ts';
import { observe } from './observe.ts';
import type { ClaimDeps, ClaimLoop } from './state.ts';
import { instanceAnnotation } from '../names.ts';
import { settlerOf } from './protection.ts';

export function claimLoop(deps: ClaimDeps, watched: Watched, clock: Clock): Loop {
  const { memory, settings, references, driver, ownership, instanceWaits, reschedules } = deps;
  const { claims, volumes, classes, nodes, csiNodes, grants } = watched;
  const forget = (uid: ClaimUid): void => {
    if (memory.get(uid)?.kind === 'settled') memory.delete(uid);
    ownership.forget(uid);
    instanceWaits.forget(uid);
    reschedules.forget(uid);
    references.forget(uid);
  };
  return defineLoop<ClaimLoop>({
    name: 'claims',
    settings,
    watches: { claims, volumes, classes, nodes, csiNodes, grants },
    primary: {
      watch: 'claims',
      keyOf: uidOf,
      forget: (uid) => {
        forget(uid);
        memory.gone(uid, clock.monotonicMs());
        // No run of the claim may be left to end the hold.
        if (memory.get(uid) === undefined && references.stateOf(uid) === 'inUse') deps.claims.wake(uid);
      },
      // A deleted claim only waits for its outcome: attempts before its deletion must not delay the next one.
      endsFailures: isNewlyDeleted,
    },
    remembered: (uid) => {
      const record = memory.get(uid);
      return record === undefined ? [] : [record.kind];
    },
    traced: (caches, uid) => ({ object: caches.claims.byIndex('uid', uid)[0] }),
    handlers: {
      claims: (change) => {
        const { current } = change;
        const isOn = current !== undefined && isWorkedOn(current, driver.name);
        return isOn && matters(deps, change) ? uidOf(current) : undefined;
      },
      // Claims that name a new class waited for it, or were refused with the earlier class of that name. Upstream's claims find
      // it with their next retry, up to five minutes later.
      classes: ({ previous, current }, caches) =>
        previous === undefined
          ? caches.claims
              .list()
              .filter((claim) => classNameOf(claim) === current?.metadata?.name)
              .map(uidOf)
          : undefined,
      // The claim is about to lose its record (C63), or waited for the end of that.
      volumes: (change, caches) => {
        if (change.current !== undefined && !isDeletedNow(change)) return undefined;
        const { spec } = change.current ?? change.previous ?? {};
        const [claim] = caches.claims.byIndex('uid', spec?.claimRef?.uid ?? '');
        if (claim === undefined) return undefined;
        // The claim may have been bound, and may be gone.
        if (change.current === undefined && (claim.spec?.volumeName ?? '') === '') caches.claims.doubt(claim);
        return uidOf(claim);
      },
      grants: ({ current }, caches) => {
        if (current === undefined) return undefined;
        const refers = ({ spec }: PersistentVolumeClaim): boolean =>
          spec?.dataSourceRef?.namespace === current.metadata?.namespace;
        return caches.claims.list().filter(refers).map(uidOf);
      },
    },
    sources: [deps.claims.source],
    observe: (caches, uid) => {
      const observed = observe({ context: deps, memory, ownership, clock }, caches, uid);
      if (observed === undefined) references.release(uid, 'other');
      return observed;
    },
    context: deps,
    flow: (observed) => provision(observed, deps),
    onConclude: (run) => conclude(deps, run),
    onEnd: (run) => {
      endReference(deps, run);
      // A claim that left the cache during the run was forgotten before the run remembered how it ended, and may have no other run.
      if (run.caches.claims.byIndex('uid', run.key).length === 0) forget(run.key);
    },
    retryMessage: 'Retrying syncing claim',
    describe: (caches, uid) => {
      const claim = caches.claims.byIndex('uid', uid)[0] ?? memory.get(uid)?.claim;
      return { PVC: `${claim?.metadata?.namespace ?? ''}/${claim?.metadata?.name ?? ''}` };
    },
  });
}

function conclude(deps: ClaimDeps, { conclusion, durationMs, logger, caches }: ConcludedRun<ClaimLoop>): void {
  const { row, events, driverEvents, counts, answer, givenUp, capacity, known } = conclusion;
  const { claim, deletion } = known;
  logEnd(logger, known, conclusion);
  for (const event of events) deps.events.record(claim, event);
  for (const event of driverEvents) deps.driverEvents.record(claim, event);
  if (counts === 'success') {
    deps.metrics.provisioned(claim, durationMs);
    deps.reschedules.forget(uidOf(claim));
  }
  if (counts === 'failure') deps.metrics.provisionFailed(claim);
  if (givenUp === 'yes') deps.metrics.givenUp(claim);
  deps.capacity.changed(capacity, caches.classes.list(), logger);
  if (answer !== undefined && deletion !== undefined) deps.memory.answered(claim, deletion, answer);
  if (row === 'C62') deps.memory.delete(uidOf(claim));
  if (row === 'C51') deps.ownership.forget(uidOf(claim));
  if (row === 'C55') deps.ownership.end(uidOf(claim));
}

/** Ends the claim's reference to its source unless a volume may exist for the claim, or was made and is not recorded. */
function endReference({ references, memory }: ClaimDeps, { key, concluded }: EndedRun<ClaimLoop>): void {
  if (concluded === undefined) {
    const entry = memory.get(key);
    if (entry === undefined || entry.kind === 'settled') references.release(key, 'other');
    return;
  }
  const { row, counts, givenUp, known } = concluded.conclusion;
  if (row !== 'C62' && givenUp !== 'yes' && isOutstanding(known)) return;
  // An attempt that found the source unprotected follows no open call of an earlier process.
  const isSettled = known.created !== undefined || known.isSourceProtected;
  const hasFailed = isSettled && counts === 'failure' && known.presence !== 'gone';
  references.release(key, hasFailed ? 'failed' : 'other');
}

/**
 * Enqueues new claims, relevant changes and the resync. Changes of our own finalizer and of the binding are ignored: they
 * would start the next attempt at once, whatever the backoff.
 */
function matters(context: ClaimDeps, change: Change<PersistentVolumeClaim>): boolean {
  const { previous, current } = change;
  if (previous === undefined || current === undefined || isResync(change)) return true;
  return relevant(context, previous) !== relevant(context, current);
}

/** The finalizer of another instance counts: this one may have waited for its removal. */
function relevant(context: ClaimDeps, claim: PersistentVolumeClaim): string {
  const { metadata, spec } = claim;
  const { [instanceAnnotation(context.driver.name)]: _instance, ...annotations } = metadata?.annotations ?? {};
  const settler = settlerOf(claim, context);
  return stringifyJson([metadata?.deletionTimestamp, annotations, spec, typeof settler === 'object']);
}

function isNewlyDeleted(change: Change<PersistentVolumeClaim>): boolean {
  return change.previous !== undefined && isDeletedNow(change);
}

function isDeletedNow({ previous, current }: Change<KubeObject>): boolean {
  return previous?.metadata?.deletionTimestamp === undefined && current?.metadata?.deletionTimestamp !== undefined;
}
