// SPDX-License-Identifier: Apache-2.0
/** What expansion and modification assemble in the same way: claims are their subject, and each run ends with its turn and its events. */
import type { Clock, EventRecorder, Lister, RecordedEvent } from '@csi-sidecars/runtime';
import { type Claim, type ClaimKey, claimKey } from './claim.ts';
import type { ClaimMemory } from './claim-memory.ts';
import type { OpenCalls } from './open-calls.ts';
import type { OwnWrites } from './own-writes.ts';
import type { ResizerSettings } from './settings.ts';
import type { Turn, VolumeTurns } from './volume-turns.ts';

/** What both loops forget when a claim is gone. */
interface Forgetting {
  readonly memory: { delete(key: ClaimKey): void };
  readonly ownWrites: OwnWrites;
  readonly openCalls: OpenCalls;
}

interface ClaimSubject {
  readonly watch: 'claims';
  readonly keyOf: typeof claimKey;
  readonly forget: (key: ClaimKey) => void;
}

export function claimSubject(context: Forgetting): ClaimSubject {
  return { watch: 'claims', keyOf: claimKey, forget: (key) => forget(context, key) };
}

function forget({ memory, ownWrites, openCalls }: Forgetting, key: ClaimKey): void {
  memory.delete(key);
  ownWrites.forget(key);
  openCalls.forget(key);
}

interface EndedClaimRun {
  readonly key: ClaimKey;
  readonly caches: { readonly claims: Pick<Lister<Claim>, 'get'> };
  readonly concluded:
    | {
        readonly state: { readonly claim: Claim | undefined; readonly turn: 'unasked' | 'taken' | 'busy' };
        readonly conclusion: { readonly events?: readonly RecordedEvent[] | undefined };
      }
    | undefined;
}

export function endRun(
  context: Forgetting & { readonly turns: VolumeTurns; readonly events: EventRecorder },
  turn: Turn,
  { key, caches, concluded }: EndedClaimRun,
): void {
  const { turns, events } = context;
  turns.end(turn, key, concluded?.state.turn === 'busy');
  // A claim that went during the run was forgotten before the run remembered its last call and write.
  if (caches.claims.get(key) === undefined) forget(context, key);
  const claim = concluded?.state.claim;
  if (claim !== undefined) for (const event of concluded?.conclusion.events ?? []) events.record(claim, event);
}

type Remembered = { readonly kind: 'infeasible'; readonly sinceMs: number } | { readonly kind: 'final' | 'settled' };

/** How the last call for the claim ended, and for how long (milliseconds) its refusal still holds. */
export function recall<Entry extends Remembered & { readonly uid: string }>(
  { memory, settings }: { readonly memory: ClaimMemory<Entry>; readonly settings: ResizerSettings },
  claim: Claim | undefined,
  { key, clock }: { readonly key: ClaimKey; readonly clock: Clock },
): { readonly entry: Entry | undefined; readonly infeasibleForMs: number } {
  const entry = memory.get(key, claim?.metadata?.uid ?? '');
  const endsMs = entry?.kind === 'infeasible' ? entry.sinceMs + settings.retryIntervalMaxMs : 0;
  return { entry, infeasibleForMs: Math.max(endsMs - clock.monotonicMs(), 0) };
}
