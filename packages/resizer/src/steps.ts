// SPDX-License-Identifier: Apache-2.0
/** The steps that expansion and modification have in common, and how their runs end. */
import { CsiError, type CsiChannel } from '@csi-sidecars/csi';
import {
  conclude as concludeRun,
  type Conclusion as AnyConclusion,
  type EventRecorder,
  type Outcome,
  type PersistentVolume,
  readSecret,
  type RecordedEvent,
  type Run,
  toError,
} from '@csi-sidecars/runtime';
import type { SecretReference } from '@csi-sidecars/volume';
import type { CallOutcome } from './call-outcome.ts';
import type { Claim, ClaimKey } from './claim.ts';
import type { ClaimMemory } from './claim-memory.ts';
import type { ResizerDriver } from './driver.ts';
import type { OpenCalls } from './open-calls.ts';
import type { OwnWriteFilter } from './own-write-filter.ts';
import type { ResizerSettings } from './settings.ts';
import type { ResizerLoop, VolumeLocks } from './volume-locks.ts';

/** What all runs of a loop share. */
export interface ClaimContext {
  readonly driver: ResizerDriver;
  readonly channel: CsiChannel;
  readonly settings: ResizerSettings;
  readonly events: EventRecorder;
  readonly memory: ClaimMemory;
  readonly locks: VolumeLocks;
  readonly ownWriteFilter: OwnWriteFilter;
  readonly openCalls: OpenCalls;
}

export interface WatchedByBoth {
  readonly claims: Claim;
  readonly volumes: PersistentVolume;
}

/** The claim and its PersistentVolume, both there and ours. */
export interface Pair {
  readonly claim: Claim;
  readonly volume: PersistentVolume;
}

export type ClaimRun = Run<{ readonly key: ClaimKey; readonly watched: WatchedByBoth; readonly context: ClaimContext }>;

export type Secrets = Readonly<Record<string, string>>;

export interface Conclusion extends AnyConclusion {
  readonly events: readonly RecordedEvent[];
}

export function conclude(row: string, outcome: Outcome, ...events: readonly RecordedEvent[]): Conclusion {
  return { ...concludeRun(row, outcome), events };
}

/** The claim has just been read again: one write of somebody else is not worth a backoff. */
export const afterConflictMs = 50;

/**
 * Memory only: the other loop waits meanwhile. Two PersistentVolumes of one volume are one as well. False: it is locked, and the claim is
 * woken when it is free.
 */
export function lockVolume(
  { key, context: { locks } }: ClaimRun,
  loop: ResizerLoop,
  { metadata, spec }: PersistentVolume,
): boolean {
  return locks.take(spec?.csi?.volumeHandle ?? metadata?.name ?? '', loop, key);
}

export function announce({ context: { events } }: ClaimRun, claim: Claim, event: RecordedEvent): void {
  events.record(claim, event);
}

/** Read before each call, never cached. Upstream's text. */
export function readCallSecret({ client, signal }: ClaimRun, { namespace, name }: SecretReference): Promise<Secrets> {
  return readSecret(client, { namespace, name }, { signal }).catch((cause: unknown) => {
    throw new Error(`error getting secret ${name} in namespace ${namespace}: ${toError(cause).message}`, { cause });
  });
}

interface Call<Answer> {
  readonly method: string;
  readonly volumeHandle: string;
  readonly send: () => Promise<Answer>;
  readonly outcomeOf: (failure: Error) => CallOutcome;
}

/** Rejects as the channel does. Remembers how the call ended. */
export async function callDriver<Answer>(
  { key, clock, context: { memory, openCalls } }: ClaimRun,
  { metadata }: Claim,
  { method, volumeHandle, send, outcomeOf }: Call<Answer>,
): Promise<Answer> {
  const uid = metadata?.uid ?? '';
  const startedMs = clock.monotonicMs();
  const before = memory.get(key, uid);
  // From here on the call may be under way, until an answer says otherwise.
  memory.delete(key);
  try {
    const answer = await send();
    openCalls.forget(key);
    return answer;
  } catch (error) {
    const failure = toError(error);
    const outcome = outcomeOf(failure);
    openCalls.note({ key, volumeHandle, method, startedMs, isOpen: outcome === 'open' }, failure);
    if (outcome === 'infeasible') memory.set(key, { kind: 'infeasible', uid, sinceMs: clock.monotonicMs() });
    else if (outcome === 'final') memory.set(key, { kind: 'final', uid, isInUse: isInUseError(failure) });
    else if (outcome === 'notSent' && before !== undefined) memory.set(key, before);
    throw failure;
  }
}

/** No call is under way, whatever the claim shows, so the user may still change what is asked for. What is known about pods stays. */
export function noteNoCall({ key, context: { memory } }: ClaimRun, { metadata }: Claim): void {
  const uid = metadata?.uid ?? '';
  const entry = memory.get(key, uid);
  memory.set(key, { kind: 'final', uid, isInUse: entry?.kind === 'final' && entry.isInUse });
}

/** How a driver says that it expands this volume only while it is not in use. */
function isInUseError(failure: Error): boolean {
  return failure instanceof CsiError && failure.code === 'FailedPrecondition';
}
