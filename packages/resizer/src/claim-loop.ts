// SPDX-License-Identifier: Apache-2.0
/** What expansion and modification assemble in the same way: claims are their subject, and each run ends with its lock and its events. */
import {
  type Caches,
  type Clock,
  type EndedRun,
  type LoopTypes,
  type PersistentVolume,
  toObjectKey,
} from '@csi-sidecars/runtime';
import { type Claim, type ClaimKey, claimKey, volumeNameOf } from './claim.ts';
import type { CallEntry } from './claim-memory.ts';
import type { ClaimContext, Conclusion, WatchedByBoth } from './steps.ts';
import type { ResizerLoop } from './volume-locks.ts';

interface ClaimLoop extends LoopTypes {
  readonly key: ClaimKey;
  readonly watched: WatchedByBoth;
  readonly observed: { readonly claim: Claim | undefined };
  readonly conclusion: Conclusion;
}

interface ClaimPrimary {
  readonly watch: 'claims';
  readonly keyOf: typeof claimKey;
  readonly forget: (key: ClaimKey) => void;
}

export function claimPrimary(context: ClaimContext): ClaimPrimary {
  return { watch: 'claims', keyOf: claimKey, forget: (key) => forget(context, key) };
}

function forget({ memory, ownWriteFilter, openCalls }: ClaimContext, key: ClaimKey): void {
  memory.delete(key);
  ownWriteFilter.forget(key);
  openCalls.forget(key);
}

export function endRun(
  context: ClaimContext,
  loop: ResizerLoop,
  {
    key,
    caches,
    concluded,
  }: Pick<EndedRun<ClaimLoop>, 'key' | 'concluded'> & {
    readonly caches: { readonly claims: { get(key: ClaimKey): Claim | undefined } };
  },
): void {
  context.locks.end(loop, key);
  const now = caches.claims.get(key);
  // A claim that went during the run was forgotten before the run remembered its last call and write.
  if (now === undefined) forget(context, key);
  if (concluded?.observed.claim === undefined) return;
  const { claim: seen } = concluded.observed;
  const claim = now !== undefined && now.metadata?.uid === seen.metadata?.uid ? now : seen;
  for (const event of concluded.conclusion.events) context.events.record(claim, event);
}

export interface ObservedByBoth {
  /** Its newest known state, own writes included. Undefined: it is gone, or has no volume. */
  readonly claim: Claim | undefined;
  /** Undefined: another driver's, or not arrived yet. */
  readonly volume: PersistentVolume | undefined;
  /** How the last call for the claim ended. */
  readonly entry: CallEntry | undefined;
  /** For how long, in milliseconds, its refusal still holds; 0: it may be requested. */
  readonly infeasibleForMs: number;
}

export function observeByBoth(
  { memory, settings }: ClaimContext,
  { claims, volumes }: Caches<ClaimLoop>,
  { key, clock }: { readonly key: ClaimKey; readonly clock: Clock },
): ObservedByBoth {
  const claim = claims.get(key);
  const entry = memory.get(key, claim?.metadata?.uid);
  const endsMs = entry?.kind === 'infeasible' ? entry.sinceMs + settings.retryIntervalMaxMs : -Infinity;
  return {
    claim,
    volume: claim && volumes.get(toObjectKey(undefined, volumeNameOf(claim))),
    entry,
    infeasibleForMs: Math.max(endsMs - clock.monotonicMs(), 0),
  };
}
