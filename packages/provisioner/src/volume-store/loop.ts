// SPDX-License-Identifier: Apache-2.0
/**
 * The save loop, upstream's VolumeStore: PersistentVolumes of volumes that exist and whose first save failed. Tried until the API server gives a
 * final answer; a volume is never deleted because it could not be recorded. A PersistentVolume that cannot be saved as it is goes back to the
 * claim loop, which calls the driver again and wakes this loop when a first save fails. Rows S1 to S10 of the provisioner's page.
 *
 * Not here: the first save (the claim loop does it, with the same rows).
 */
import {
  type Clock,
  type Conclusion as AnyConclusion,
  defaultControllerLimiter,
  defineLoop,
  done,
  type Flow,
  type Lister,
  type Loop,
  type LoopTypes,
  perform,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type RecordedEvent,
  retry,
  type Run,
} from '@csi-sidecars/runtime';
import { uidOf } from '../claim/claim.ts';
import { deletionOf } from '../claim/deletion.ts';
import type { ClaimMemory, Saving, UnsavedKey } from '../claim/memory.ts';
import * as messages from '../claim/messages.ts';
import { settlerOf, type SettlerContext } from '../claim/protection.ts';
import type { ClaimDeps } from '../claim/state.ts';
import type { Watched } from '../watched.ts';
import type { SaveOutcome } from './outcome.ts';
import { saveVolume } from './save-volume.ts';

interface SaveLoop extends LoopTypes {
  readonly key: UnsavedKey;
  readonly watched: { readonly claims: PersistentVolumeClaim; readonly volumes: PersistentVolume };
  readonly observed: Observed;
  readonly conclusion: Conclusion;
}

export interface Observed {
  readonly saving: Saving;
  /** The claim from the cache, else from the last attempt. */
  readonly claim: PersistentVolumeClaim;
  readonly isProtected: boolean;
}

export interface Conclusion extends AnyConclusion {
  readonly events: readonly RecordedEvent[];
  /**
   * The entry for the claim loop: still `saving`, `settled` (it removes the finalizer), or `again`: the volume exists, and
   * its record has to be built again.
   */
  readonly claimIs: 'saving' | 'settled' | 'again';
}

/** As upstream. */
const saveWorkers = 4;

export function saveLoop(deps: ClaimDeps, { claims, volumes }: Watched, clock: Clock): Loop {
  const { memory, settings, driver, saves } = deps;
  return defineLoop<SaveLoop>({
    name: 'unsavedpvs',
    settings,
    watches: { claims, volumes },
    traced: (_caches, volumeName) => ({ object: memory.savingByName(volumeName)?.claim }),
    handlers: {},
    sources: [saves.source],
    observe: (caches, volumeName) => observe({ memory, claims: caches.claims, driver, settings }, volumeName),
    flow: save,
    onConclude: ({ observed, conclusion }) => conclude(deps, clock, { ...observed, conclusion }),
    workers: saveWorkers,
    limiter: () => defaultControllerLimiter(clock),
    retryMessage: 'Retrying saving volume',
    describe: (_caches, volumeName) => ({ PV: volumeName }),
    // Memory ends with the process, so every unsaved PersistentVolume gets one more attempt.
    lastRuns: () => memory.savingNames(),
  });
}

export interface ObserveDeps extends SettlerContext {
  readonly memory: ClaimMemory;
  /** With the index `uid`. */
  readonly claims: Lister<PersistentVolumeClaim>;
}

/** Undefined if nothing waits under this name any more. */
export function observe(deps: ObserveDeps, volumeName: UnsavedKey): Observed | undefined {
  const { memory, claims } = deps;
  const saving = memory.savingByName(volumeName);
  if (saving === undefined) return undefined;
  const cached = claims.byIndex('uid', uidOf(saving.claim))[0];
  const isProtected = cached !== undefined && settlerOf(cached, deps) === 'us';
  return { saving, claim: cached ?? saving.claim, isProtected };
}

export function* save({ saving }: Observed): Flow<Conclusion> {
  const saved = yield* perform('S9', sendVolume, saving.volume);
  const ended = { row: saved.row, kind: 'conclude', outcome: done, events: [] } as const;
  switch (saved.kind) {
    case 'later':
      return { ...ended, outcome: retry(saved.cause), claimIs: 'saving' };
    case 'saved': {
      const events = saved.claim === 'there' ? [messages.succeeded(saving.pinned.plan.volumeName)] : [];
      return { ...ended, events, claimIs: 'settled' };
    }
    case 'taken':
      return { ...ended, events: [messages.failed(saved.message)], claimIs: 'settled' };
    case 'refused':
      return { ...ended, events: [messages.failed(saved.message)], claimIs: 'again' };
  }
}

function sendVolume({ client, caches }: Run<SaveLoop>, volume: PersistentVolume): Promise<SaveOutcome> {
  return saveVolume({ client, ...caches }, volume);
}

function conclude(
  { memory, events, claims }: ClaimDeps,
  clock: Clock,
  { saving, claim, isProtected, conclusion }: Observed & { readonly conclusion: Conclusion },
): void {
  for (const event of conclusion.events) events.record(claim, event);
  switch (conclusion.claimIs) {
    case 'saving': {
      // Counts as an answer for a deleted claim, so that it is not kept for ever if the API server refuses its PersistentVolume.
      const isDeleted = claim.metadata?.deletionTimestamp !== undefined;
      // An entry that the claim loop has changed during the save takes precedence.
      const current = memory.savingByName(saving.pinned.plan.volumeName) ?? saving;
      if (isDeleted) memory.answered(claim, deletionOf(clock, claim, current.deletion), 'open');
      break;
    }
    case 'settled':
      if (isProtected) memory.set({ kind: 'settled', claim, refusal: undefined });
      else memory.delete(uidOf(claim));
      claims.wake(uidOf(claim));
      break;
    case 'again': {
      const { volume: _refused, ...others } = saving;
      memory.set({ ...others, kind: 'pinned' });
      claims.wake(uidOf(claim), 'rateLimited');
    }
  }
}
