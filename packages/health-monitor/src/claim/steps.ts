// SPDX-License-Identifier: Apache-2.0
/** The steps of the claim loop: the turn to write, the patch of the status, and what its outcomes leave behind. */
import {
  ApiError,
  type Clock,
  findObject,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
  type ObjectKey,
  persistentVolumeClaims,
  type Run,
  timestamp,
  writeObject,
} from '@csi-sidecars/runtime';
import type { HealthMemory } from '../memory.ts';
import type { HealthMetrics } from '../metrics.ts';
import { type HealthChange, isStored } from '../report/change.ts';
import { type Claim, healthOf } from '../report/health-status.ts';
import type { HealthMonitorSettings } from '../settings.ts';
import { type ClaimRef, trimClaim, type WatchedKinds } from '../watched.ts';
import type { Write } from '../write-turns.ts';
import { messages } from './messages.ts';

export interface ClaimContext {
  readonly memory: HealthMemory;
  readonly metrics: HealthMetrics;
  readonly settings: Pick<HealthMonitorSettings, 'timeoutMs'>;
  /** When the lack of a right was logged last; shared by all claims. */
  readonly forbiddenLog: { atMs: number | undefined };
  /** Wakes other volumes, which waited for a write that succeeds. */
  readonly wake: (key: ObjectKey) => void;
}

export type ClaimRun = Run<{ readonly key: ObjectKey; readonly watched: WatchedKinds; readonly context: ClaimContext }>;

export type PatchResult =
  | { readonly kind: 'stored' | 'dropped' | 'gone' }
  | { readonly kind: 'forbidden' | 'invalid'; readonly cause: Error };

/** True: it is there and will be written by a further run. Rejects if the API server does not answer. */
export async function findClaim(
  { client, signal, key, context: { memory, wake } }: ClaimRun,
  ref: ClaimRef,
): Promise<boolean> {
  const found = await findObject({ client, signal }, persistentVolumeClaims, ref);
  if (found === undefined) return false;
  memory.noteRead(key, trimClaim(found));
  wake(key);
  return true;
}

export function takeTurn({ context, key }: ClaimRun, claim: Claim): boolean {
  return context.memory.turns.take(key, writeOf(claim));
}

/** An API server whose gate is off drops the field of claims that do not have it yet, and stores that of the others. */
function writeOf(claim: Claim): Write {
  return { kind: healthOf(claim) === undefined ? 'add' : 'change', namespace: claim.metadata?.namespace ?? '' };
}

/**
 * The uid makes the API server refuse the patch for a claim that was created under the same name since. Rejects for a failure after which the
 * same patch may succeed.
 */
export async function patchHealth(
  { client, clock, caches, signal, context }: ClaimRun,
  claim: Claim,
  change: HealthChange,
): Promise<PatchResult> {
  const { namespace, name = '', uid } = claim.metadata ?? {};
  const target = { resource: persistentVolumeClaims, ref: { namespace, name } };
  const body = { metadata: { uid }, status: { healthStatus: statusOf(change, clock) } };
  // A server that is older than the field would warn, and `noteDropped` says more.
  const options = {
    subresource: 'status',
    fieldValidation: 'Ignore',
    timeoutMs: context.settings.timeoutMs,
    signal,
  } as const;
  try {
    const answer = await writeObject(caches.claims, claim, () =>
      client.patch(target, { type: 'merge', body }, options),
    );
    return { kind: isStored(healthOf(answer), change) ? 'stored' : 'dropped' };
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return { kind: 'gone' };
    if (isForbidden(error)) return { kind: 'forbidden', cause: error as Error };
    if (isInvalid(error)) return isOfAnother(error) ? { kind: 'gone' } : { kind: 'invalid', cause: error as Error };
    throw error;
  }
}

/** The uid that the patch carries is not that of the object: the claim was created again. */
function isOfAnother(error: unknown): boolean {
  return error instanceof ApiError && error.details?.causes?.some(({ field }) => field === 'metadata.uid') === true;
}

function statusOf(change: HealthChange, clock: Pick<Clock, 'nowMs'>): object | null {
  if (change.kind === 'clear') return null;
  return { healthConditions: change.conditions, lastTransitionTime: change.since ?? timestamp(clock.nowMs()) };
}

export function noteStored({ context, key, logger }: ClaimRun, claim: Claim, change: HealthChange): void {
  const { memory, wake } = context;
  memory.noteWritten(key, change);
  logger.info(2, change.kind === 'set' ? messages.set : messages.cleared, { PVC: nameOf(claim.metadata), PV: key });
  const { released, endsDrops } = memory.turns.noteStored(writeOf(claim));
  if (endsDrops) logger.info(0, messages.stored);
  for (const waiting of released) wake(waiting);
}

/** A value that should be gone and is still there is held like a refused one: it would else be removed in each cycle. */
export function noteDropped({ context: { memory, metrics }, key, logger }: ClaimRun, change: HealthChange): void {
  if (change.kind === 'clear') {
    memory.noteRefused(key, change);
    return;
  }
  metrics.dropped();
  if (memory.turns.noteDropped(key)) logger.error(undefined, messages.dropped);
}

const betweenLogsMs = 60 * 60_000;

export function noteForbidden(
  { context: { memory, metrics, forbiddenLog }, key, clock, logger }: ClaimRun,
  { metadata }: Claim,
  cause: Error,
): void {
  metrics.refused('forbidden');
  memory.turns.noteForbidden(key, metadata?.namespace ?? '');
  const nowMs = clock.monotonicMs();
  if (forbiddenLog.atMs !== undefined && nowMs - forbiddenLog.atMs < betweenLogsMs) return;
  forbiddenLog.atMs = nowMs;
  logger.error(cause, messages.forbidden, { PVC: nameOf(metadata) });
}

export function noteRefused(
  { context: { memory, metrics }, key, logger }: ClaimRun,
  change: HealthChange,
  cause: Error,
): void {
  metrics.refused('invalid');
  memory.noteRefused(key, change);
  logger.error(cause, messages.refused, { PV: key });
}

/** For how long a claim may be missing before that is an error: the watch of claims may be behind that of volumes. */
const patienceMs = 30_000;

export function noteMissing({ context: { memory }, key, logger }: ClaimRun, reason: string): void {
  if (memory.missedForMs(key) >= patienceMs) logger.error(undefined, messages.noClaim, { PV: key, reason });
  else logger.info(4, messages.noClaim, { PV: key, reason });
}

const nameOf = (metadata: Claim['metadata']): string => `${metadata?.namespace}/${metadata?.name}`;
